"""Text question: free text."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from spanplat.schemas.questions.question import Question, ReplyHint


class TextQuestion(Question):
    """Free text."""

    kind_title: ClassVar[str] = "free text"

    type: Literal["text"]
    required: bool = False
    max_length: int = Field(default=2000, ge=1, le=20000)

    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""
        fits = isinstance(answer, str) and len(answer) <= self.max_length
        return None if fits else f"must be text of at most {self.max_length} characters"

    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""
        return {"type": "string"}

    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""
        return ReplyHint("text; may be empty", "text")

    def read(self, given: Any) -> str | None:
        """Parse a model's answer: text, cut to the maximum length."""
        return given[: self.max_length] if isinstance(given, str) else None
