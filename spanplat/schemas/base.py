"""Base class of all schemas: unknown keys are errors, and validated values never change."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import InitErrorDetails

PathInValue = tuple[str | int, ...]
"""Path of keys and positions from a value to a part of it."""


class Strict(BaseModel):
    """A frozen shape that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def refuse(mistakes: Iterable[tuple[PathInValue, str]]) -> None:
    """Raise one error that reports all mistakes in a value; call this in a validator of the value.

    A mistake that concerns several parts is reported at the part that should be changed. pydantic knows only the path of the whole
    value, and puts it in front of these paths.

    Parameters
    ----------
    mistakes
        Path within the value and description of each mistake; nothing happens if there are none.

    Raises
    ------
    pydantic.ValidationError
        With one error for each mistake.
    """
    # A plain ValueError would report the first mistake only, and the path of the whole value.
    errors = [
        InitErrorDetails(type="value_error", ctx={"error": ValueError(message)}, loc=place, input=None)
        for place, message in mistakes
    ]
    if errors:
        raise ValidationError.from_exception_data("contradictions", errors)
