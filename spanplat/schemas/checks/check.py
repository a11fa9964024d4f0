"""Base class of checks, and the work that they look at."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field, model_validator

from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.schemas.slug import Slug
from spanplat.schemas.span import MarkedSpan
from spanplat.text import QuoteLocation, locate_quote

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

    def region_in(self, text: str) -> tuple[int, int] | None:
        """Return start and end of the span in a text; None if it may be anywhere, or if its quote is not in the text."""
        if self.start is not None and self.end is not None:
            return self.start, self.end
        if self.quote is not None:
            located = locate_quote(text, self.quote)
            return (located.start, located.end) if isinstance(located, QuoteLocation) else None
        return None


Golds = Sequence[Sequence[ExpectedSpan]]
"""One or several acceptable sets of spans."""


def spans_of_golds(golds: Golds) -> Iterator[tuple[PathInValue, ExpectedSpan]]:
    """Yield the spans of acceptable sets, each with its path below the object with the field ``golds``."""
    for number, gold in enumerate(golds):
        for position, span in enumerate(gold):
            yield ("golds", number, position), span


@dataclass(frozen=True)
class CheckedWork:
    """Work on one completed item, for checks."""

    text: str
    spans: Sequence[MarkedSpan]
    answers: Mapping[str, Any]
    seconds: float | None
    """Time spent on the item, as limited by the server; None if it is unknown."""
    category_key: Callable[[str], str | None]
    """Function from a key or name to the key of the campaign's category; None if there is none."""
    score_against: Callable[[Golds, str, bool], float]
    """Function that scores the spans against the best acceptable set; takes the sets, a measure, and whether categories must match."""


class Verdict(NamedTuple):
    """Outcome of a check of an item."""

    passed: bool
    detail: dict[str, Any]
    """Details, stored with the outcome."""


class Check(Strict):
    """Base class of all checks."""

    kind_title: ClassVar[str]
    """Name of this kind on pages."""
    parts: ClassVar[Mapping[str, str]] = {}
    """Boolean entries of the detail that the report counts separately, with their names on pages."""
    role: ClassVar[Literal["regular", "attention", "gold"]] = "regular"
    """Role of the check's text in a batch; regular if the check applies to every item."""
    expects_spans: ClassVar[bool] = False
    """Whether the check expects spans; forms then offer to select them in the text."""
    allows_rejection: ClassVar[bool] = False
    """Whether platforms accept a failure as a reason to reject work, because the task says openly what to do."""
    looks_at_time: ClassVar[bool] = False
    """Whether the check is about the time of an item, which says nothing about a model."""

    name: Slug
    on_fail: OnFail = "note"
    """``note`` records it, ``warn`` tells the annotator, ``screen_out`` ends the visit with the screen-out code as soon as the item
    is completed, ``withhold_bonus`` pays the base reward only (everybody who submits earns a bonus that no check withholds),
    ``exclude`` leaves the person's batch out of analysis."""
    message: str = ""
    """Message to the annotator when ``on_fail`` is ``warn`` or ``screen_out``."""

    @classmethod
    def kind(cls) -> str:
        """Return the name of this kind in definitions, which is stored with each outcome."""
        return str(get_args(cls.model_fields["type"].annotation)[0])

    @property
    def carrier(self) -> OutputReference | None:
        """The output to which the check belongs; None if it applies to every item."""
        return None

    @property
    def asked_question(self) -> str | None:
        """Key of the question that the check uses, if any."""
        return None

    def expected_spans(self) -> Iterator[tuple[PathInValue, ExpectedSpan]]:
        """Yield the expected spans, each with its path below the check."""
        yield from ()

    @abstractmethod
    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether an item passes."""
