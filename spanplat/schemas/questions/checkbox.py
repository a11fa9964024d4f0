"""Checkbox question: a box to tick."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from spanplat.schemas.questions.question import Average, Question, ReplyHint
from spanplat.schemas.questions.words import majority, read_word

_YES = frozenset({"yes", "true", "1", "y", "ticked", "checked"})
_NO = frozenset({"no", "false", "0", "n", "unticked", "unchecked"})


class CheckboxQuestion(Question):
    """A box to tick; answered ``true`` or ``false``."""

    kind_title: ClassVar[str] = "box to tick"
    is_voted_on: ClassVar[bool] = True

    type: Literal["checkbox"]
    required: bool = False

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return None if isinstance(answer, bool) else "must be true or false"

    def is_unanswered(self, answer: Any) -> bool:
        """Tell whether a required answer is still missing; a box that must be ticked is answered by ticking it."""
        return answer is not True

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "boolean"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint("true or false", "true or false")

    def read(self, given: Any) -> bool | None:
        """Parse a model's answer: a truth value, or a word for one."""
        return given if isinstance(given, bool) else read_word(given, {True: _YES, False: _NO})

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the answer of more than half."""
        del average
        return majority(answers)
