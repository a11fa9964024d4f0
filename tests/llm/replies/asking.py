"""Definitions of model campaigns for tests of prompts and replies."""

from typing import Any

from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import PromptSettings


def defined(*, overlap: str = "allow", **parts: Any) -> CampaignDefinition:
    """Make the definition of a model campaign; names of prompt settings go to the model, the others stand beside it."""
    model = {name: parts.pop(name) for name in list(parts) if name in PromptSettings.model_fields}
    content: dict[str, Any] = {
        "slug": "study",
        "title": "A study",
        "kind": "llm",
        "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
        "data": {"dataset": "reports"},
        "spans": {"overlap": overlap},
        "model": {"provider": "openai", "model": "some-model", **model},
    }
    return CampaignDefinition.model_validate(content | parts)
