"""Gold check (a text with a complete reference annotation), and practice texts."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from spanplat.schemas.base import PathInValue, Strict
from spanplat.schemas.checks.check import Check, CheckedWork, ExpectedSpan, OutputReference, Verdict, spans_of_golds


class GoldCheck(Check):
    """A text with a full reference annotation: the score against it must reach a minimum."""

    kind_title: ClassVar[str] = "gold"
    role: ClassVar[Literal["gold"]] = "gold"
    expects_spans: ClassVar[bool] = True

    type: Literal["gold"]
    item: OutputReference
    golds: list[list[ExpectedSpan]] = Field(min_length=1)
    """One or several acceptable sets of spans; the best score counts."""
    measure: str = "char"
    hard: bool = True
    minimum: float = Field(default=0.5, ge=0, le=1)

    @property
    def carrier(self) -> OutputReference:
        """The text that carries the check."""
        return self.item

    def expected_spans(self) -> Iterator[tuple[PathInValue, ExpectedSpan]]:
        """Yield the spans of all acceptable sets."""
        return spans_of_golds(self.golds)

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether the score against the best acceptable set reaches the minimum."""
        score = work.score_against(self.golds, self.measure, self.hard)
        return Verdict(score >= self.minimum, {"score": score})


class PracticeItem(Strict):
    """A text for practice before the work. Its expected spans are shown after the answer. It is in no figure."""

    item: OutputReference
    golds: list[list[ExpectedSpan]] = Field(min_length=1)
    """One or several acceptable sets of spans."""
    explanation: str = ""
    """Markdown: explanation of the expected spans, shown with them."""

    def expected_spans(self) -> Iterator[tuple[PathInValue, ExpectedSpan]]:
        """Yield the spans of all acceptable sets."""
        return spans_of_golds(self.golds)
