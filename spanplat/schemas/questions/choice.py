"""Choice question: exactly one of several options."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from spanplat.schemas.questions.options import Options, option_labels, problem_with_key, read_option
from spanplat.schemas.questions.question import Average, Question, ReplyHint
from spanplat.schemas.questions.words import majority


class ChoiceQuestion(Question):
    """Exactly one of several options; answered with the option's key."""

    kind_title: ClassVar[str] = "one of several options"
    is_voted_on: ClassVar[bool] = True

    type: Literal["choice"]
    options: Options

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return problem_with_key(answer, [option.key for option in self.options])

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "string", "enum": [option.label for option in self.options]}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint(f"one of: {option_labels(self.options)}", "your choice")

    def read(self, given: Any) -> str | None:
        """Parse a model's answer: an option's key or label."""
        return read_option(self.options, given)

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the answer of more than half."""
        del average
        return majority(answers)
