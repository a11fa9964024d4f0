"""Preference question: which of two texts is better."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from spanplat.schemas.questions.options import problem_with_key
from spanplat.schemas.questions.question import Average, Question, ReplyHint
from spanplat.schemas.questions.words import majority, read_word

_FIRST = frozenset(
    {"a", "1", "first", "text a", "text 1", "the first", "output a", "output 1", "response a", "response 1"}
)
_SECOND = frozenset(
    {"b", "2", "second", "text b", "text 2", "the second", "output b", "output 2", "response b", "response 2"}
)
_TIE = frozenset({"tie", "equal", "both", "neither", "none", "same", "no difference", "draw"})


class PairQuestion(Question):
    """Which of the two outputs of a pair is better by one criterion; answered ``first``, ``second`` or, if allowed, ``tie``."""

    kind_title: ClassVar[str] = "which of two is better"
    is_voted_on: ClassVar[bool] = True

    type: Literal["preference"]
    tie: bool = False

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return problem_with_key(answer, ["first", "second", "tie"] if self.tie else ["first", "second"])

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "string"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint("A, B or Tie" if self.tie else "A or B", "your choice")

    def read(self, given: Any) -> str | None:
        """Parse a model's preference: ``first``, ``second`` or, if the question allows it, ``tie``."""
        chosen = read_word(given, {"first": _FIRST, "second": _SECOND, "tie": _TIE})
        return None if chosen == "tie" and not self.tie else chosen

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the preference of more than half; without a majority a tie, if the question allows it."""
        del average
        return majority(answers) or ("tie" if self.tie else None)

    def turned(self, answer: Any) -> Any:
        """Return the same preference for the texts in the other order."""
        return {"first": "second", "second": "first"}.get(answer, answer)
