"""Scores of spans against gold spans, with any measure of the registry; a text may have several acceptable sets of spans."""

from collections.abc import Sequence
from dataclasses import dataclass

from spanplat.metrics.registry import measure_named
from spanplat.metrics.spans import Comparison
from spanplat.schemas.checks import Golds
from spanplat.schemas.definition import CampaignDefinition

CodedSpan = tuple[int, int, int]
"""Start, end and the position of the category in the campaign's list."""
CodedSpans = Sequence[CodedSpan]
ANY_CATEGORY = -1
"""In place of a position: the category of an expected span that may have any category."""


@dataclass(frozen=True)
class SpanScorer:
    """Measure and variant by which spans are scored."""

    measure: str = "char"
    hard: bool = True

    @property
    def name(self) -> str:
        """Measure, variant and figure, such as ``char.hard.f1``."""
        measure = measure_named(self.measure)
        variant = [("hard" if self.hard else "soft")] if measure.has_soft else []
        return ".".join([measure.name, *variant, measure.headline])

    def score(self, golds: Sequence[CodedSpans], marked: Sequence[CodedSpans], categories: Sequence[str]) -> float:
        """Return the headline figure over all texts, pooled as the measure does; 0 if it is undefined.

        Parameters
        ----------
        golds, marked
            Expected and marked spans, text by text. Each span has a category; `best_gold` gives one to expected spans of any category.
        categories
            Keys of the campaign's categories.
        """
        measure = measure_named(self.measure)
        pair = Comparison.of(golds, marked, categories=list(categories))
        options = {"soft": not self.hard} if measure.has_soft else {}
        return measure.compute(pair, **options)[measure.headline] or 0.0

    def best_gold(self, golds: Sequence[CodedSpans], marked: CodedSpans, categories: Sequence[str]) -> CodedSpans:
        """Return the acceptable set of spans with the best score for the marked spans; the first one if several are equal.

        In it, an expected span of any category has the category of an overlapping marked span, or else the first category.
        """
        fitted = [self._with_categories(gold, marked, categories) for gold in golds]
        if len(fitted) == 1:
            return fitted[0]
        return max(fitted, key=lambda gold: self.score([gold], [marked], categories))

    def _with_categories(self, gold: CodedSpans, marked: CodedSpans, categories: Sequence[str]) -> CodedSpans:
        spans = [(start, end, 0 if category == ANY_CATEGORY else category) for start, end, category in gold]
        # One span after another: the number of all combinations grows exponentially with the number of spans.
        for position, (start, end, category) in enumerate(gold):
            if category == ANY_CATEGORY:
                found = sorted({code for first, last, code in marked if first < end and start < last})
                choices = [[*spans[:position], (start, end, code), *spans[position + 1 :]] for code in found]
                spans = max(choices, key=lambda choice: self.score([choice], [marked], categories), default=spans)
        return spans


def coded_golds(definition: CampaignDefinition, golds: Golds, text: str) -> list[CodedSpans]:
    """Return acceptable sets of spans with offsets in a text; an expected span without a region covers the whole text.

    An expected span without a category has `ANY_CATEGORY`.
    """
    keys = [category.key for category in definition.categories]
    coded: list[CodedSpans] = []
    for gold in golds:
        spans = []
        for expected in gold:
            category = definition.find_category(expected.category) if expected.category else None
            region = expected.region_in(text) or (0, len(text))
            spans.append((*region, keys.index(category.key) if category else ANY_CATEGORY))
        coded.append(spans)
    return coded
