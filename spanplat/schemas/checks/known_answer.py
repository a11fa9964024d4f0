"""Known answer: a text for which the correct answers to one question are known."""

from typing import ClassVar, Literal

from pydantic import Field

from spanplat.schemas.checks.check import Check, CheckedWork, OutputReference, Verdict


class KnownAnswerCheck(Check):
    """A text about which one question has known right answers (a label, where no spans are marked)."""

    kind_title: ClassVar[str] = "known answer"
    role: ClassVar[Literal["attention"]] = "attention"

    type: Literal["known_answer"]
    item: OutputReference
    question: str
    """Key of the question."""
    answers: list[str | int | bool] = Field(min_length=1)
    """Any of these is right."""

    @property
    def carrier(self) -> OutputReference:
        """The text that carries the check."""
        return self.item

    @property
    def asked_question(self) -> str:
        """Key of the question that it looks at."""
        return self.question

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether the answer is one of the right ones."""
        answer = work.answers.get(self.question)
        return Verdict(answer in self.answers, {"answer": answer})
