"""Questions asked about a whole item, beside its spans."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.slug import Slug, slugify


class Question(Strict):
    """What every question has: a key in the answers, its wording, and whether it must be answered."""

    key: Slug
    label: str = Field(min_length=1)
    help: str = ""
    required: bool = True
    wording: dict[str, str] = {}
    """Wording by group key, where groups see a different sentence."""

    @model_validator(mode="before")
    @classmethod
    def _derive_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.get("key") and isinstance(value.get("label"), str):
            return {**value, "key": short_slug(value["label"])}
        return value

    def label_for(self, group: str | None) -> str:
        """Return the wording a member of ``group`` sees."""
        return self.wording.get(group or "", self.label)


class Option(Strict):
    """One answer of a choice; a bare string in the file stands for an option whose key is its slug."""

    key: Slug
    label: str

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"key": short_slug(value), "label": value}
        if isinstance(value, dict) and not value.get("key") and isinstance(value.get("label"), str):
            return {**value, "key": short_slug(value["label"])}
        return value


def short_slug(label: str) -> str:
    """Return the slug of a wording, cut to the length a key may have."""
    return slugify(label)[:60].strip("-")


def distinct_options(options: list[Option]) -> list[Option]:
    """Return the options, provided that an answer tells them apart.

    Raises
    ------
    pydantic.ValidationError
        If two have one key.
    """
    keys = [option.key for option in options]
    refuse(
        ((position,), f"two options have the key {key!r}; change a label, or give one of them a key of its own")
        for position, key in enumerate(keys)
        if key in keys[:position]
    )
    return options


Options = Annotated[list[Option], Field(min_length=2), AfterValidator(distinct_options)]


class CheckboxQuestion(Question):
    """A box to tick; answered ``true`` or ``false``."""

    type: Literal["checkbox"]
    required: bool = False


class NoErrorsQuestion(Question):
    """The box that says there is nothing to mark; an item is complete only with a span or with this box, never both."""

    type: Literal["no_errors"]
    key: Slug = "no-errors"
    required: bool = False


class ChoiceQuestion(Question):
    """Exactly one of several options; answered with the option's key."""

    type: Literal["choice"]
    options: Options


class ChoicesQuestion(Question):
    """Any number of several options; answered with a list of keys."""

    type: Literal["choices"]
    options: Options
    minimum: int = Field(default=0, ge=0)
    """How many must be chosen."""

    @model_validator(mode="after")
    def _reachable(self) -> "ChoicesQuestion":
        if self.minimum > len(self.options):
            refuse([(("minimum",), f"minimum {self.minimum} is more than there are options ({len(self.options)})")])
        return self


class LikertQuestion(Question):
    """A scale of labelled points; answered with the point's number, counted from 1."""

    type: Literal["likert"]
    points: int = Field(default=5, ge=2, le=11)
    lowest: str = ""
    highest: str = ""


class SliderQuestion(Question):
    """A number on a scale, 0 to 100 by default."""

    type: Literal["slider"]
    minimum: float = 0
    maximum: float = 100
    step: float = Field(default=1, gt=0)
    lowest: str = ""
    highest: str = ""

    @model_validator(mode="after")
    def _ordered(self) -> "SliderQuestion":
        if self.minimum >= self.maximum:
            refuse([(("minimum",), f"minimum {self.minimum:g} must be below maximum {self.maximum:g}")])
        return self


class TextQuestion(Question):
    """Free text."""

    type: Literal["text"]
    required: bool = False
    max_length: int = Field(default=2000, ge=1, le=20000)


class PairQuestion(Question):
    """Which of the two outputs of a pair is better by one criterion; answered ``first``, ``second`` or, if allowed, ``tie``."""

    type: Literal["preference"]
    tie: bool = False


AnyQuestion = Annotated[
    CheckboxQuestion
    | NoErrorsQuestion
    | ChoiceQuestion
    | ChoicesQuestion
    | LikertQuestion
    | SliderQuestion
    | TextQuestion
    | PairQuestion,
    Field(discriminator="type"),
]
