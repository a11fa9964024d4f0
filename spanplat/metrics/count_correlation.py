"""Correlation of the numbers of spans of two sides."""

import numpy as np

from spanplat.metrics.measure import Correlation, Explanation
from spanplat.metrics.result import Result
from spanplat.metrics.spans import Comparison, FloatArray, SpanSet


def category_counts(spans: SpanSet, n_categories: int) -> FloatArray:
    """Count the spans per output and category, shape (n, categories)."""
    cells = spans.output * n_categories + spans.category
    counts = np.bincount(cells, minlength=spans.n_outputs * n_categories)
    # Not -1 for the outputs: without categories NumPy could not tell their number.
    return counts.reshape(spans.n_outputs, n_categories).astype(np.float64)


def pearson(left: FloatArray, right: FloatArray) -> float | None:
    """Return the Pearson correlation, or ``None`` if a side is constant or there are fewer than two values."""
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return None
    left, right = left - left.mean(), right - right.mean()
    # Rounding can give a value slightly above 1.
    return float(np.clip((left @ right) / np.sqrt((left @ left) * (right @ right)), -1.0, 1.0))


def count_correlation(pair: Comparison) -> Result:
    """Compute the Pearson correlation of span counts (Kasner et al. 2025 publish ``micro``).

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.

    Returns
    -------
    Result
        ``micro``: over all (output, category) pairs, with every category of the campaign. ``macro``: mean of the defined correlations
        of single categories. ``totals``: over the numbers of spans per output. ``category:<name>``: for each category. All of them are
        over segments (the outputs), not over systems.

    Examples
    --------
    >>> pair = Comparison.of(reference=[[(0, 4)], [], [(1, 2), (3, 4)]], hypothesis=[[(9, 10)], [], [(2, 3), (5, 6)]])
    >>> round(count_correlation(pair)["micro"], 6)
    1.0
    """
    reference, hypothesis = (category_counts(side, pair.n_categories) for side in (pair.reference, pair.hypothesis))
    per_category = {
        f"category:{name}": pearson(hypothesis[:, code], reference[:, code])
        for code, name in enumerate(pair.categories)
    }
    defined = [value for value in per_category.values() if value is not None]
    figures: dict[str, float | None] = {
        "micro": pearson(hypothesis.ravel(), reference.ravel()),
        "macro": float(np.mean(defined)) if defined else None,
        "totals": pearson(hypothesis.sum(axis=1), reference.sum(axis=1)),
        **per_category,
    }
    constant = "one side has the same number of spans everywhere"
    undefined = {name: constant for name, value in figures.items() if value is None}
    return Result(
        "count_correlation", figures, outputs=pair.n_outputs, options={"over": "segments"}, undefined=undefined
    )


COUNT_CORRELATION = Correlation(
    name="count_correlation",
    title="Correlation of counts ρ",
    explanation=Explanation(
        "Pearson correlation between the numbers of spans of both sides, over all pairs of an output and a category. "
        "Macro: the mean of the correlations within each category.",
        "Where the spans are: only how many there are.",
    ),
    source="Kasner et al. 2025",
    compute=count_correlation,
    values=category_counts,
    bounds=(-1.0, 1.0),
    why_undefined="one side has the same number of spans everywhere",
    has_soft=False,
    report_name="pearson",
)
