"""Prompts of models: presets composed of parts, rendered for one item."""

from spanplat.llm.prompts.rendering import Prompt, check_prompt, freeze_prompt, prompt_digest, render_prompt
from spanplat.llm.prompts.variables import PromptExample, PromptInputs

__all__ = ["Prompt", "PromptExample", "PromptInputs", "check_prompt", "freeze_prompt", "prompt_digest", "render_prompt"]
