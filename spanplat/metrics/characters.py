"""Precision, recall and F1 over characters."""

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.measure import Empty, Explanation, PrecisionRecall
from spanplat.metrics.result import Result
from spanplat.metrics.scores import Average, ScoreCounts, prf_result
from spanplat.metrics.spans import Comparison, FloatArray, IntArray, SpanSet, sum_by


def char_counts(pair: Comparison, *, soft: bool = False, binary: bool = False) -> ScoreCounts:
    """Count the common characters and the marked characters, per output.

    ``c_h(i)`` and ``c_r(i)`` are the numbers of spans of the two sides that cover character ``i`` (of one category, unless ``soft``).
    The overlap is the sum of ``min(c_h(i), c_r(i))``.

    Parameters
    ----------
    pair, soft
        See `char`.
    binary : bool
        Whether to clip the numbers of covering spans to 0 and 1 first.

    Returns
    -------
    ScoreCounts
        The unit is characters.
    """
    both = pair.without_categories() if soft else pair
    group, length, covering_hypothesis, covering_reference = _covered_stretches(both.hypothesis, both.reference)
    if binary:
        covering_hypothesis, covering_reference = np.minimum(covering_hypothesis, 1), np.minimum(covering_reference, 1)
    common = sum_by(group, np.minimum(covering_hypothesis, covering_reference) * length, pair.n_outputs)
    hypothesis = sum_by(group, covering_hypothesis * length, pair.n_outputs)
    reference = sum_by(group, covering_reference * length, pair.n_outputs)
    return ScoreCounts(common, hypothesis, common, reference)


def char(
    pair: Comparison, *, soft: bool = False, average: Average = "micro", empty: Empty = "include", by: str | None = None
) -> Result:
    """Compute precision, recall and F1 over characters (Kasner et al. 2025; soft and with empty outputs it is the WMT25 measure).

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.
    soft : bool
        Whether to ignore categories.
    average : {"micro", "macro", "macro_f_of_means", "strata"}
        See `spanplat.metrics.scores.score`.
    empty : {"include", "skip"}
        ``skip`` leaves out outputs without spans on one side or both.
    by : str, optional
        Name of the comparison's grouping for ``average="strata"``.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    "The quick brown fox jumps": the hypothesis marks "The quick" and "fox", the reference "The", "quick" and "fox".

    >>> pair = Comparison.of(hypothesis=[[(0, 9), (16, 19)]], reference=[[(0, 3), (4, 9), (16, 19)]])
    >>> result = char(pair)
    >>> round(result.precision * 12, 10), result.recall
    (11.0, 1.0)
    """
    return _char_result("char", pair, soft=soft, average=average, empty=empty, by=by)


def char_binary(
    pair: Comparison, *, soft: bool = False, average: Average = "micro", empty: Empty = "include", by: str | None = None
) -> Result:
    """Compute `char` with each character counted once, even if several spans cover it (WMT23 and WMT24).

    Parameters
    ----------
    pair, soft, average, empty, by
        See `char`.

    Returns
    -------
    Result
        ``precision``, ``recall`` and ``f1``, also per output.

    Examples
    --------
    >>> pair = Comparison.of(hypothesis=[[(0, 4), (2, 6)]], reference=[[(0, 6)]])
    >>> char_binary(pair).precision, char(pair).precision
    (1.0, 0.75)
    """
    return _char_result("char_binary", pair, soft=soft, average=average, empty=empty, by=by)


def compared_outputs(pair: Comparison, empty: Empty) -> IntArray:
    """Return the positions of the outputs that count: all, or with ``skip`` only those with spans on both sides."""
    if empty == "include":
        return np.arange(pair.n_outputs)
    if empty == "skip":
        return np.flatnonzero((pair.reference.counts > 0) & (pair.hypothesis.counts > 0))
    raise InvalidInput(f"Unknown treatment of empty outputs {empty!r}: choose include or skip.")


def char_f1(pair: Comparison, *, soft: bool = False, empty: Empty = "include") -> float | None:
    """Compute the micro-averaged F1 of `char`, or ``None`` if no output is compared."""
    return char(pair, soft=soft, empty=empty).f1


def _char_result(
    measure: str, pair: Comparison, *, soft: bool, average: Average, empty: Empty, by: str | None
) -> Result:
    counts = char_counts(pair, soft=soft, binary=measure == "char_binary")
    outputs = compared_outputs(pair, empty)
    strata = pair.stratum(by)
    options = {"soft": soft, "average": average, "empty": empty, "by": by}
    return prf_result(
        measure,
        counts.select(outputs),
        options,
        average=average,
        strata=None if strata is None else strata[outputs],
    )


def _covered_stretches(hypothesis: SpanSet, reference: SpanSet) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Sweep over the borders of all spans. Return the output, length and numbers of covering spans of each part between borders."""
    # One sort over all outputs: the key has the output, the side of the text and the category before the position.
    sides = (hypothesis, reference)
    width = 1 + max(int(spans.end.max(initial=0)) for spans in sides)
    categories = 1 + max(int(spans.category.max(initial=0)) for spans in sides)
    text_sides = 1 + max(int(spans.side.max(initial=0)) for spans in sides)
    keys, steps = [], []
    for number, spans in enumerate(sides):
        text = (spans.output * text_sides + spans.side) * categories + spans.category
        keys += [text * width + spans.start, text * width + spans.end]
        step = np.zeros((2, spans.n_spans, 2))
        step[0, :, number], step[1, :, number] = 1, -1
        steps += [step[0], step[1]]
    key = np.concatenate(keys)
    # The order of starts and ends at one position does not matter: the part between them has length 0.
    order = np.argsort(key, kind="stable")
    key, covering = key[order], np.concatenate(steps)[order].cumsum(axis=0)
    # Parts between two texts have a length without meaning. No span covers them, so they add nothing.
    length = np.diff(key, append=key[-1:]).astype(np.float64)
    output: IntArray = key // (width * categories * text_sides)
    return output, length, covering[:, 0], covering[:, 1]


CHAR = PrecisionRecall(
    name="char",
    title="Character F1",
    row_title="characters, with multiplicity",
    explanation=Explanation(
        "Characters marked by both sides, each as often as it was marked, over all characters marked. The cards show this figure.",
        "How many spans the characters belong to: one long span counts as much as several short ones.",
    ),
    explanations={
        "hard": Explanation(
            "How much of the marked text both sides marked with the same category, counted in characters and pooled over all outputs. "
            "Precision: the share of the hypothesis’s characters that the reference has too. Recall: the other way round. "
            "F1: their harmonic mean.",
            "How many spans the characters belong to: one long span counts as much as several short ones of the same total length.",
        ),
        "soft": Explanation(
            "The same without asking for the same category: did both sides see a problem at the same place?",
            "What kind of problem it is. The difference to the figure with categories (Δ) is what disagreement about categories "
            "costs.",
        ),
    },
    source="Kasner et al. 2025; soft with empty outputs: WMT25",
    compute=char,
    counts=lambda pair, options: char_counts(pair, soft=options.soft),
    unit="characters",
)

CHAR_BINARY = PrecisionRecall(
    name="char_binary",
    title="Character F1 counting each character once",
    row_title="characters, each once",
    explanation=Explanation(
        "The same with every character counted once, however many spans of a side cover it.",
        "That a side marked a place several times.",
    ),
    source="WMT23 and WMT24",
    compute=char_binary,
    counts=lambda pair, options: char_counts(pair, soft=options.soft, binary=True),
    unit="characters",
)
