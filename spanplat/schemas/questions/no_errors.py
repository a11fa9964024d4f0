"""The “no errors” box: the annotator ticks it if there is nothing to mark."""

from typing import Any, ClassVar, Literal

from spanplat.schemas.questions.question import Question, ReplyHint
from spanplat.schemas.slug import Slug


class NoErrorsQuestion(Question):
    """The box that says there is nothing to mark; an item is complete only with a span or with this box, never both."""

    kind_title: ClassVar[str] = "“no errors” box"

    type: Literal["no_errors"]
    key: Slug = "no-errors"
    required: bool = False

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        return None if isinstance(answer, bool) else "must be true or false"

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "boolean"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint("true or false", "true or false")

    def read(self, given: Any) -> bool | None:
        """Return None: models do not get this question, because the answer follows from their spans."""
        del given
        return None
