"""Requests of a generation, and the outputs made of the replies."""

from dataclasses import dataclass

from spanplat.errors import InvalidInput
from spanplat.llm.interfaces.parameters import sent_parameters
from spanplat.llm.item import AskedItem
from spanplat.llm.prompts.library import part_source
from spanplat.llm.prompts.templates import render_template
from spanplat.llm.prompts.variables import source_as_text
from spanplat.llm.provider import Message, ModelReply, Request
from spanplat.llm.replies.reasoning import separate_reasoning
from spanplat.models import Example
from spanplat.schemas.generation import GenerationDefinition
from spanplat.text.storable import make_storable_text


@dataclass(frozen=True)
class GeneratedText:
    """Text of a reply, or the reason why there is none."""

    text: str = ""
    problem: str | None = None


def ask_for(definition: GenerationDefinition, example: Example) -> Request:
    """Return the request for the output of one example.

    Raises
    ------
    InvalidInput
        If the prompt's template is wrong. The message says where and why.
    """
    settings = definition.model
    variables = {
        "source": example.source,
        "source_text": source_as_text(example.source),
        "dataset": definition.dataset,
        "split": example.split,
        "key": example.key,
    }
    prompt = render_template("model.prompt", settings.prompt or "", part_source, variables)
    if not prompt.strip():
        raise InvalidInput(f"the prompt about example {example.split}/{example.key} is empty; check model.prompt")
    messages = [Message("user", prompt)]
    if settings.system_message:
        messages.insert(0, Message("system", settings.system_message))
    # A last message of the assistant is a prefill: the model continues it.
    if definition.beginning:
        messages.append(Message("assistant", definition.beginning))
    return Request(AskedItem([""], example.source), messages, None, sent_parameters(settings))


def read_text(definition: GenerationDefinition, reply: ModelReply) -> GeneratedText:
    """Return the output of a reply: its text without the reasoning, after the forced beginning.

    A reply that the token limit cut short is still an output. A refusal or an empty reply is not.
    """
    if reply.finish_reason == "refusal":
        return GeneratedText(problem=f"refused: {reply.text[:200] or 'no reason given'}")
    parted = separate_reasoning(reply.text)
    # Without reasoning, the reply is taken unchanged: the parted answer has lost the white space at its ends.
    answer = parted.answer if parted.reasoning or parted.unclosed else reply.text
    if not answer.strip():
        return GeneratedText(problem="the reply is empty")
    # The reply may repeat the forced beginning, or only continue it.
    text = answer if answer.startswith(definition.beginning) else definition.beginning + answer
    return GeneratedText(make_storable_text(text.replace("\r\n", "\n")))
