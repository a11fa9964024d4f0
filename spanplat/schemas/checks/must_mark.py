"""Must-mark check: a text with an obvious error."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from pydantic import Field

from spanplat.schemas.base import PathInValue
from spanplat.schemas.checks.check import Check, CheckedWork, ExpectedSpan, OutputReference, Verdict


class MustMarkCheck(Check):
    """A text with a blatant error: some span must overlap the expected region."""

    kind_title: ClassVar[str] = "must mark"
    role: ClassVar[Literal["attention"]] = "attention"
    expects_spans: ClassVar[bool] = True
    parts: ClassVar[Mapping[str, str]] = {
        "marked": "Marked anything",
        "region_marked": "Marked the place",
        "category_right": "Right category",
    }

    type: Literal["must_mark"]
    item: OutputReference
    expected: ExpectedSpan
    tolerance: int = Field(default=0, ge=0)
    """Code points by which a span may miss the region."""
    requires: Literal["category", "region"] = "category"
    """Condition for passing: a span of the expected category there, or any span there. The report shows both."""

    @property
    def carrier(self) -> OutputReference:
        """The text that carries the check."""
        return self.item

    def expected_spans(self) -> Iterator[tuple[PathInValue, ExpectedSpan]]:
        """Yield the expected span."""
        yield ("expected",), self.expected

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether a span of the expected category, or any, lies in the region."""
        region = self.expected.region_in(work.text)
        category = work.category_key(self.expected.category) if self.expected.category else None
        hits = [
            span
            for span in work.spans
            if region is None or (span.start < region[1] + self.tolerance and region[0] - self.tolerance < span.end)
        ]
        right = [span for span in hits if category is None or span.category == category]
        passed = bool(right) or (self.requires == "region" and bool(hits))
        detail = {"marked": bool(work.spans), "region_marked": bool(hits), "category_right": bool(right)}
        return Verdict(passed, detail)
