"""What a model is asked: presets composed of parts, rendered for one item."""

from spanplat.llm.prompts.rendering import Prompt, check_prompt, freeze_prompt, prompt_digest, render_prompt
from spanplat.llm.prompts.variables import PromptInputs, WorkedExample

__all__ = ["Prompt", "PromptInputs", "WorkedExample", "check_prompt", "freeze_prompt", "prompt_digest", "render_prompt"]
