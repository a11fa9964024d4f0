"""Slider question: a number on a scale."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import refuse
from spanplat.schemas.questions.numbers import average_of, problem_with_number, read_number, scale_end
from spanplat.schemas.questions.question import Average, Question, ReplyHint


class SliderQuestion(Question):
    """A number on a scale, 0 to 100 by default."""

    kind_title: ClassVar[str] = "slider"

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

    @property
    def scale(self) -> tuple[float, float]:
        """Ends of the scale."""
        return self.minimum, self.maximum

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return problem_with_number(answer, self.minimum, self.maximum, whole=False)

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "number"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        low, high = scale_end(self.minimum, self.lowest), scale_end(self.maximum, self.highest)
        return ReplyHint(f"a number from {low} to {high}", "number")

    def read(self, given: Any) -> float | None:
        """Parse a model's answer: a number of the scale."""
        number = read_number(given, self.maximum)
        return number if number is not None and self.minimum <= number <= self.maximum else None

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the average."""
        return average_of(answers, average)
