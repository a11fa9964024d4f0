"""Attributes of spans: further questions about every span, beside its category, severity and reason."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.questions import Options, short_slug
from spanplat.schemas.slug import Slug


class SpanAttribute(Strict):
    """Base class of all attributes: a key in the data, a label, and whether each span needs it."""

    key: Slug
    label: str = Field(min_length=1, max_length=120)
    required: bool = False

    @model_validator(mode="before")
    @classmethod
    def _derive_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.get("key") and isinstance(value.get("label"), str):
            return {**value, "key": short_slug(value["label"])}
        return value


class TextAttribute(SpanAttribute):
    """A line of text, such as the wording that would have been right."""

    type: Literal["text"]
    max_length: int = Field(default=2000, ge=1, le=5000)


class ChoiceAttribute(SpanAttribute):
    """One of several options; stored as the option's key."""

    type: Literal["choice"]
    options: Options


class CheckboxAttribute(SpanAttribute):
    """A box to tick; stored as ``true``, and not at all while it is not ticked."""

    type: Literal["checkbox"]


AnySpanAttribute = Annotated[TextAttribute | ChoiceAttribute | CheckboxAttribute, Field(discriminator="type")]


def distinct_attributes(attributes: list[AnySpanAttribute]) -> list[AnySpanAttribute]:
    """Return the attributes if their keys are distinct.

    Raises
    ------
    pydantic.ValidationError
        If two attributes have the same key.
    """
    keys = [attribute.key for attribute in attributes]
    refuse(
        (
            (position, "label"),
            f"two attributes have the key {key!r}; change a label, or give one of them a key of its own",
        )
        for position, key in enumerate(keys)
        if key in keys[:position]
    )
    return attributes


def problem_with_attribute(attribute: AnySpanAttribute, value: Any) -> str | None:
    """Return a description of what is wrong with the value of an attribute, or None."""
    if isinstance(attribute, CheckboxAttribute):
        return None if isinstance(value, bool) else "must be true or false"
    if isinstance(attribute, ChoiceAttribute):
        keys = [option.key for option in attribute.options]
        return None if value in keys else f"{value!r} is not one of {', '.join(keys)}"
    fits = isinstance(value, str) and len(value) <= attribute.max_length
    return None if fits else f"must be text of at most {attribute.max_length} characters"
