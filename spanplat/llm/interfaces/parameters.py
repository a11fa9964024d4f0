"""The settings that every provider has, under the names that the one asked has for them."""

from typing import Any, Literal

from spanplat.llm.keys import is_own_address
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.prompt_settings import ReasoningSettings

Server = Literal["words", "openrouter", "dashscope", "vllm", "gemini"]

_HOSTS: tuple[tuple[str, Server], ...] = (
    ("openrouter.ai", "openrouter"),
    ("aliyuncs.com", "dashscope"),
    ("generativelanguage.googleapis.com", "gemini"),
)
_OPENAI_HOST = "api.openai.com"


def sent_parameters(settings: ModelSettings) -> dict[str, Any]:
    """Return what is sent beside the prompt: longest reply and reasoning as the interface names them, parameters as they stand."""
    return {**_limit(settings), **_reasoning(settings), **settings.parameters}


def sends_budget(settings: ModelSettings) -> bool:
    """Tell whether the provider is sent the budget of reasoning, and holds the model to it; otherwise only words can."""
    if settings.reasoning is None or settings.reasoning.budget is None:
        return False
    return settings.provider == "anthropic" or _server(settings, settings.reasoning) != "words"


def _limit(settings: ModelSettings) -> dict[str, Any]:
    if settings.max_tokens is None:
        return {}
    if settings.provider == "anthropic":
        return {"max_tokens": settings.max_tokens}
    if settings.interface == "responses":
        return {"max_output_tokens": settings.max_tokens}
    own = is_own_address(settings, _OPENAI_HOST)  # other servers may not know OpenAI's newer name
    return {"max_completion_tokens" if own else "max_tokens": settings.max_tokens}


def _reasoning(settings: ModelSettings) -> dict[str, Any]:
    reasoning = settings.reasoning
    if reasoning is None:
        return {}
    if settings.provider == "anthropic":
        effort = {"output_config": {"effort": reasoning.effort}} if reasoning.effort else {}
        thinking = {"type": "enabled", "budget_tokens": reasoning.budget}
        return effort | ({"thinking": thinking} if reasoning.budget else {})
    if settings.interface == "responses":
        return {"reasoning": {"effort": reasoning.effort}} if reasoning.effort else {}
    return _compatible(_server(settings, reasoning), reasoning)


def _compatible(server: Server, reasoning: ReasoningSettings) -> dict[str, Any]:
    """Return what chat completions have for reasoning; for a budget every server has a name of its own, OpenAI none."""
    budget = reasoning.budget
    effort = {"reasoning_effort": reasoning.effort} if reasoning.effort else {}
    match server if budget is not None else "words":
        case "openrouter":  # takes the one or the other
            return {"reasoning": {"max_tokens": budget}}
        case "dashscope":
            return {"enable_thinking": True, "thinking_budget": budget}
        case "gemini":  # refuses an effort beside a budget
            return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}
        case "vllm":
            return effort | {"thinking_token_budget": budget}
        case _:
            return effort


def _server(settings: ModelSettings, reasoning: ReasoningSettings) -> Server:
    if reasoning.budget_for != "auto":
        return reasoning.budget_for
    host = str(settings.base_url.host) if settings.base_url else ""
    if settings.interface != "chat":
        return "words"
    return next((server for name, server in _HOSTS if host == name or host.endswith(f".{name}")), "words")
