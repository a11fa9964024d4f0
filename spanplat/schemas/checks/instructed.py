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
    """A list names all options to choose, in any order."""

    @property
    def asked_question(self) -> str:
        """Key of the question that it looks at."""
        return self.question

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether the answer is the one that was asked for."""
        answer = work.answers.get(self.question)
        # Chosen options have no order: the page sends them as it lists them, and a model as it likes.
        if isinstance(answer, list) and isinstance(self.answer, list):
            return Verdict(set(answer) == set(self.answer), {"answer": answer})
        return Verdict(answer == self.answer, {"answer": answer})
