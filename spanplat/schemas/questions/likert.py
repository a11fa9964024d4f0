"""Likert question: a scale of labelled points."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from spanplat.schemas.questions.numbers import average_of, problem_with_number, read_number, scale_end
from spanplat.schemas.questions.question import Average, Question, ReplyHint


class LikertQuestion(Question):
    """A scale of labelled points; answered with the point's number, counted from 1."""

    kind_title: ClassVar[str] = "scale of labelled points"

    type: Literal["likert"]
    points: int = Field(default=5, ge=2, le=11)
    lowest: str = ""
    highest: str = ""

    @property
    def scale(self) -> tuple[float, float]:
        """Ends of the scale."""
        return 1, self.points

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return problem_with_number(answer, 1, self.points, whole=True)

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "integer"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        low, high = scale_end(1, self.lowest), scale_end(self.points, self.highest)
        return ReplyHint(f"a whole number from {low} to {high}", "number")

    def read(self, given: Any) -> int | None:
        """Parse a model's answer: the number of a point."""
        number = read_number(given, self.points)
        return int(number) if number is not None and number == int(number) and 1 <= number <= self.points else None

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the average, which need not be a point."""
        return average_of(answers, average)
