"""The base of every shape at a boundary: unknown keys are errors, values never change once validated."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails

Place = tuple[str | int, ...]
"""Keys and positions that lead from a value to a part of it."""


class Strict(BaseModel):
    """A frozen shape that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def refuse(mistakes: Iterable[tuple[Place, str]]) -> None:
    """Refuse a value, from within its validator, for all that is wrong with it; where nothing is, do nothing.

    A mistake that concerns several parts of a value is told at the part where it is mended: pydantic knows the place of the value
    only, and puts it before each of these.

    Parameters
    ----------
    mistakes
        For each its place within the value, and what is wrong there.

    Raises
    ------
    pydantic.ValidationError
        With one error for each mistake.
    """
    errors = [
        InitErrorDetails(type="value_error", ctx={"error": ValueError(message)}, loc=place, input=None)
        for place, message in mistakes
    ]
    if errors:
        raise ValidationError.from_exception_data("contradictions", errors)
