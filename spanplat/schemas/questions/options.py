"""Options of questions and attributes."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.questions.question import short_slug
from spanplat.schemas.slug import Slug, slugify


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


def distinct_options(options: list[Option]) -> list[Option]:
    """Return the options if their keys are distinct.

    Raises
    ------
    pydantic.ValidationError
        If two options have the same key.
    """
    keys = [option.key for option in options]
    refuse(
        ((position,), f"two options have the key {key!r}; change a label, or give one of them a key of its own")
        for position, key in enumerate(keys)
        if key in keys[:position]
    )
    return options


Options = Annotated[list[Option], Field(min_length=2), AfterValidator(distinct_options)]


def problem_with_key(answer: Any, keys: Sequence[str]) -> str | None:
    """Return the reason why a value is no key of an option; None if it is one."""
    return None if answer in keys else f"{answer!r} is not one of {', '.join(keys)}"


def read_option(options: Sequence[Option], given: Any) -> str | None:
    """Return the key of the option that a model names by key or label; None if it names none."""
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        return None
    form = slugify(str(given).strip(" \t\n*_`\"'[]().")) if str(given).strip() else ""
    return next((option.key for option in options if form in (option.key, slugify(option.label))), None)


def option_labels(options: Sequence[Option]) -> str:
    """Return the labels as one line, for prompts."""
    return "; ".join(option.label for option in options)
