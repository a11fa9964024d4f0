"""Scoring spans against gold: several acceptable sets of spans per text, by any measure of the registry."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanplat.metrics.registry import measure_named
from spanplat.metrics.spans import Comparison
from spanplat.schemas.checks import ExpectedSpan, GoldCheck, PracticeItem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.text import Located, locate_quote

CodedSpan = tuple[int, int, int]
"""Start, end and the position of the category in the campaign's list."""
CodedSpans = Sequence[CodedSpan]


@dataclass(frozen=True)
class Yardstick:
    """What a score is measured by."""

    measure: str = "char"
    hard: bool = True

    @property
    def name(self) -> str:
        """Measure, variant and figure, such as ``char.hard.f1``."""
        measure = measure_named(self.measure)
        variant = [("hard" if self.hard else "soft")] if measure.has_soft else []
        return ".".join([measure.name, *variant, measure.headline])

    def score(self, golds: Sequence[CodedSpans], marked: Sequence[CodedSpans], categories: Sequence[str]) -> float:
        """Return the headline figure over the texts, pooled as the measure does; 0 where it is undefined.

        Parameters
        ----------
        golds, marked
            Expected and marked spans, text by text.
        categories
            Keys of the campaign's categories.
        """
        measure = measure_named(self.measure)
        pair = Comparison.of(golds, marked, categories=list(categories))
        options = {"soft": not self.hard} if measure.has_soft else {}
        return measure.compute(pair, **options)[measure.headline] or 0.0

    def best_gold(self, golds: Sequence[CodedSpans], marked: CodedSpans, categories: Sequence[str]) -> CodedSpans:
        """Return the acceptable set of spans that fits best what was marked; of equals the first."""
        if len(golds) == 1:
            return golds[0]
        return max(golds, key=lambda gold: self.score([gold], [marked], categories))


def expected_region(text: str, expected: ExpectedSpan) -> tuple[int, int] | None:
    """Return where an expected span lies; None where it may lie anywhere, or its quote is not in the text."""
    if expected.start is not None and expected.end is not None:
        return expected.start, expected.end
    if expected.quote is not None:
        located = locate_quote(text, expected.quote)
        return (located.start, located.end) if isinstance(located, Located) else None
    return None


def coded_golds(definition: CampaignDefinition, check: GoldCheck | PracticeItem, text: str) -> list[CodedSpans]:
    """Return the acceptable sets of spans of a gold check or practice item; an expected span without a place covers the text."""
    keys = [category.key for category in definition.categories]
    golds: list[CodedSpans] = []
    for gold in check.golds:
        spans = []
        for expected in gold:
            category = definition.find_category(expected.category) if expected.category else None
            region = expected_region(text, expected) or (0, len(text))
            spans.append((*region, keys.index(category.key) if category else 0))
        golds.append(spans)
    return golds
