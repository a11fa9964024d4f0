"""Multiple-choice question: any number of several options."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import refuse
from spanplat.schemas.questions.options import Options, option_labels, problem_with_key, read_option
from spanplat.schemas.questions.question import Average, Question, ReplyHint


class ChoicesQuestion(Question):
    """Any number of several options; answered with a list of keys."""

    kind_title: ClassVar[str] = "any of several options"

    type: Literal["choices"]
    options: Options
    minimum: int = Field(default=0, ge=0)
    """How many must be chosen."""

    @model_validator(mode="after")
    def _reachable(self) -> "ChoicesQuestion":
        if self.minimum > len(self.options):
            refuse([(("minimum",), f"minimum {self.minimum} is more than there are options ({len(self.options)})")])
        return self

    @property
    def fewest(self) -> int:
        """Least number of chosen options, even if the question is not required."""
        return self.minimum

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        if not isinstance(answer, list):
            return "must be a list of options"
        if any(entry in answer[:position] for position, entry in enumerate(answer)):
            return "names an option twice"
        keys = [option.key for option in self.options]
        return next((problem for entry in answer if (problem := problem_with_key(entry, keys))), None)

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        labels = [option.label for option in self.options]
        return {"type": "array", "items": {"type": "string", "enum": labels}}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint(f"a list of any of: {option_labels(self.options)}", "your choices")

    def read(self, given: Any) -> list[str] | None:
        """Parse a model's answer: a list of keys or labels, or one of them."""
        chosen = [read_option(self.options, part) for part in (given if isinstance(given, list) else [given])]
        keys = [key for key in chosen if key is not None]
        return keys if len(keys) == len(chosen) and len(keys) >= self.minimum else None

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the options that more than half chose."""
        del average
        votes = Counter(key for answer in answers if isinstance(answer, list) for key in answer)
        return [option.key for option in self.options if 2 * votes[option.key] > len(answers)]
