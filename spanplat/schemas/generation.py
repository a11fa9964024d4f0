"""A generation: the outputs of a new system, written by a model from the sources of a dataset."""

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.slug import Slug


class GenerationDefinition(Strict):
    """Which model writes what, from which sources, as which system.

    Raises
    ------
    pydantic.ValidationError
        For unknown keys, a model that is asked nothing in words, and settings that have no meaning here.
    """

    slug: Slug
    """The generation's name."""
    system: Slug
    """The system that the outputs are stored as; it must have none of these outputs yet."""
    dataset: Slug
    splits: list[str] = []
    """All splits when empty."""
    limit: int | None = Field(default=None, ge=1)
    """At most this many examples, the first ones."""
    beginning: str = ""
    """What every reply has to begin with: it is sent as the start of the model's own turn, and is part of the output."""
    model: ModelSettings
    """Its ``prompt`` is a Jinja2 template that sees ``source``, ``source_text`` (the source as text), ``dataset``, ``split`` and
    ``key``."""

    @model_validator(mode="after")
    def _writes(self) -> "GenerationDefinition":
        if self.model.provider == "overlap":
            raise ValueError("the offline annotator writes no texts; choose provider openai or anthropic")
        if not (self.model.prompt or "").strip():
            raise ValueError(
                "model.prompt is missing: the template of what the model is asked, with {{ source_text }} in it"
            )
        if self.model.protocol or self.model.final_instructions:
            raise ValueError(
                "protocols and final instructions are for annotating; leave out model.protocol and model.final_instructions"
            )
        if self.model.mode == "batch" or self.model.repeats > 1:
            raise ValueError("one output is written of each source, directly: leave out model.mode and model.repeats")
        return self
