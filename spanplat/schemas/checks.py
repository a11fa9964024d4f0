"""Attention checks, gold items and time floors: what is expected of an item, and what missing it does."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.slug import Slug

OnFail = Literal["note", "warn", "screen_out", "withhold_bonus", "exclude"]


class OutputReference(Strict):
    """Names one output of the campaign's dataset."""

    split: str
    example: str
    system: str


class ExpectedSpan(Strict):
    """A span the annotator should mark: by quote, or by offsets, or anywhere in the text."""

    category: str | None = None
    """Key or name of a category; any category when left out."""
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _both_offsets(self) -> "ExpectedSpan":
        if (self.start is None) != (self.end is None):
            refuse([(("start" if self.start is None else "end",), "give both start and end, or neither")])
        if self.start is not None and self.end is not None and self.start >= self.end:
            refuse([(("end",), f"start {self.start} must lie before end {self.end}")])
        return self


class Check(Strict):
    """What every check has."""

    name: Slug
    on_fail: OnFail = "note"
    """``note`` records it, ``warn`` tells the annotator, ``screen_out`` ends the visit with the screen-out code as soon as the item
    is completed, ``withhold_bonus`` pays the base reward only (a bonus that no check withholds is earned by everybody who submits),
    ``exclude`` leaves the person's batch out of analysis."""
    message: str = ""
    """What the annotator reads when ``on_fail`` is ``warn`` or ``screen_out``."""


class MustMarkCheck(Check):
    """A text with a blatant error: some span must overlap the expected region."""

    type: Literal["must_mark"]
    item: OutputReference
    expected: ExpectedSpan
    tolerance: int = Field(default=0, ge=0)
    """Code points by which a span may miss the region."""
    requires: Literal["category", "region"] = "category"
    """What passing takes: a span of the expected category there, or any span there; the report shows both."""


class MustAbstainCheck(Check):
    """A text without errors: nothing may be marked."""

    type: Literal["must_abstain"]
    item: OutputReference


class GoldCheck(Check):
    """A text with a full reference annotation: the score against it must reach a minimum."""

    type: Literal["gold"]
    item: OutputReference
    golds: list[list[ExpectedSpan]] = Field(min_length=1)
    """One or several acceptable sets of spans; the best score counts."""
    measure: str = "char"
    hard: bool = True
    minimum: float = Field(default=0.5, ge=0, le=1)


class PracticeItem(Strict):
    """A text to practise on before the work: what was expected is shown once it is answered; it is no work and in no figure."""

    item: OutputReference
    golds: list[list[ExpectedSpan]] = Field(min_length=1)
    """One or several acceptable sets of spans."""
    explanation: str = ""
    """Markdown; why these, shown with them."""


class KnownAnswerCheck(Check):
    """A text about which one question has known right answers (a label, where no spans are marked)."""

    type: Literal["known_answer"]
    item: OutputReference
    question: str
    """Key of the question."""
    answers: list[str | int | bool] = Field(min_length=1)
    """Any of these is right."""


class InstructedCheck(Check):
    """A question whose text says which answer to give."""

    type: Literal["instructed"]
    question: str
    answer: str | int | bool | list[str]


class TimeFloorCheck(Check):
    """An item finished faster than anyone can read it."""

    type: Literal["min_seconds"]
    seconds: float = Field(gt=0)


AnyCheck = Annotated[
    MustMarkCheck | MustAbstainCheck | GoldCheck | KnownAnswerCheck | InstructedCheck | TimeFloorCheck,
    Field(discriminator="type"),
]
