"""The definition of a generation: a model writes the outputs of a new system from the sources of a dataset."""

from collections.abc import Iterator

from pydantic import Field, model_validator

from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.providers import LANGUAGE_MODELS
from spanplat.schemas.slug import Slug


class GenerationDefinition(Strict):
    """A model, the sources from which it writes, and the system of its outputs.

    Raises
    ------
    pydantic.ValidationError
        For unknown keys, a model without a prompt, and settings that have no meaning here.
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
    """Beginning of every reply: it is sent as the start of the model's own turn, and is part of the output."""
    model: ModelSettings
    """Its ``prompt`` is a Jinja2 template that sees ``source``, ``source_text`` (the source as text), ``dataset``, ``split`` and
    ``key``."""

    @model_validator(mode="after")
    def _writes(self) -> "GenerationDefinition":
        refuse(self._mistakes())
        return self

    def _mistakes(self) -> Iterator[tuple[PathInValue, str]]:
        model = self.model
        if model.is_offline:
            names = " or ".join(provider.name for provider in LANGUAGE_MODELS)
            yield ("model", "provider"), f"the offline annotator writes no texts; choose provider {names}"
        if not (model.prompt or "").strip():
            message = "model.prompt is missing: the template of what the model is asked, with {{ source_text }} in it"
            yield ("model", "prompt"), message
        if model.protocol or model.final_instructions:
            yield (
                ("model", "protocol" if model.protocol else "final_instructions"),
                "protocols and final instructions are for annotating; leave out model.protocol and model.final_instructions",
            )
        if model.mode == "batch" or model.repeats > 1:
            yield (
                ("model", "mode" if model.mode == "batch" else "repeats"),
                "one output is written of each source, directly: leave out model.mode and model.repeats",
            )
