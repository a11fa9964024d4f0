"""Instructed question: a question whose text says which answer to give."""

from typing import ClassVar, Literal

from spanplat.schemas.checks.check import Check, CheckedWork, Verdict


class InstructedCheck(Check):
    """A question whose text says which answer to give."""

    kind_title: ClassVar[str] = "instructed question"
    allows_rejection: ClassVar[bool] = True

    type: Literal["instructed"]
    question: str
    answer: str | int | bool | list[str]

    @property
    def asked_question(self) -> str:
        """Key of the question that it looks at."""
        return self.question

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether the answer is the one that was asked for."""
        answer = work.answers.get(self.question)
        return Verdict(answer == self.answer, {"answer": answer})
