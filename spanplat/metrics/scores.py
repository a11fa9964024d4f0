"""Precision, recall and F1 from counts per output. They follow from the counts, so that a bootstrap can resample the counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from spanplat.errors import InvalidInput
from spanplat.metrics.result import Option, Result
from spanplat.metrics.spans import FloatArray, IntArray

Average = Literal["micro", "macro", "macro_f_of_means", "strata"]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCounts:
    """Numerators and denominators of precision and recall, one row per output.

    Parameters
    ----------
    found : array of float, shape (n,)
        Correct amount of the hypothesis: the numerator of precision.
    hypothesis : array of float, shape (n,)
        Total amount of the hypothesis: the denominator of precision.
    covered : array of float, shape (n,)
        Amount of the reference that was found: the numerator of recall.
    reference : array of float, shape (n,)
        Total amount of the reference: the denominator of recall.
    """

    found: FloatArray
    hypothesis: FloatArray
    covered: FloatArray
    reference: FloatArray

    def __len__(self) -> int:
        return len(self.found)

    @property
    def columns(self) -> FloatArray:
        """The four columns as one array, shape (n, 4). `spanplat.metrics.resampling.f1_statistic` takes their sums."""
        return np.stack([self.found, self.hypothesis, self.covered, self.reference], axis=1)

    def select(self, outputs: IntArray) -> Self:
        """Return the rows of these outputs, in this order. A position may occur several times (in a bootstrap sample)."""
        return type(self)(self.found[outputs], self.hypothesis[outputs], self.covered[outputs], self.reference[outputs])


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall and F1 of a corpus. They are ``None`` if there is no output to average over."""

    precision: float | None
    recall: float | None
    f1: float | None

    def as_dict(self) -> dict[str, float | None]:
        """Return the three figures by name."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return ``numerator / denominator``, and 1 if the denominator is 0: without spans nothing is wrong."""
    return np.divide(numerator, denominator, out=np.ones_like(numerator, dtype=np.float64), where=denominator > 0)


def harmonic_mean(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return F1 = 2PR / (P + R), and 0 if P + R = 0."""
    total = precision + recall
    return np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)


def score(counts: ScoreCounts, *, average: Average = "micro", strata: IntArray | None = None) -> Scores:
    """Compute the scores of a corpus from counts per output.

    Parameters
    ----------
    counts : ScoreCounts
        One row per output.
    average : {"micro", "macro", "macro_f_of_means", "strata"}
        ``micro`` pools numerators and denominators. ``macro`` averages the scores of the outputs. ``macro_f_of_means`` computes F from
        the mean precision and recall. ``strata`` averages the micro scores of groups of outputs.
    strata : array of int, shape (n,), optional
        The group of each output, for ``strata``.

    Returns
    -------
    Scores

    Raises
    ------
    InvalidInput
        If the average is ``strata`` without the argument ``strata``, or if the average is unknown.

    Examples
    --------
    >>> counts = ScoreCounts(*(np.array(column, dtype=float) for column in ([1, 0], [1, 3], [1, 0], [1, 1])))
    >>> score(counts, average="micro").precision, score(counts, average="macro").precision
    (0.25, 0.5)
    """
    if len(counts) == 0:
        return Scores(None, None, None)
    if average == "micro":
        return _pooled(counts)
    if average in ("macro", "macro_f_of_means"):
        precision, recall = ratio(counts.found, counts.hypothesis), ratio(counts.covered, counts.reference)
        means = precision.mean(keepdims=True), recall.mean(keepdims=True)
        f1 = harmonic_mean(precision, recall) if average == "macro" else harmonic_mean(*means)
        return Scores(float(means[0][0]), float(means[1][0]), float(f1.mean()))
    if average == "strata":
        if strata is None:
            raise InvalidInput(
                "Averaging over strata needs the group of each output: give strata=<one code per output>."
            )
        groups = [_pooled(counts.select(np.flatnonzero(strata == group))) for group in np.unique(strata)]
        columns = np.array([[group.precision, group.recall, group.f1] for group in groups], dtype=np.float64)
        return Scores(*columns.mean(axis=0).tolist())
    raise InvalidInput(f"Unknown average {average!r}: choose micro, macro, macro_f_of_means or strata.")


def prf_result(
    measure: str,
    counts: ScoreCounts,
    options: Mapping[str, Option],
    *,
    average: Average,
    strata: IntArray | None = None,
) -> Result:
    """Compute the scores of counts as a result. Without outputs all figures are undefined."""
    scores = score(counts, average=average, strata=strata)
    reason = "no output to compare"
    return Result(
        measure,
        scores.as_dict(),
        outputs=len(counts),
        options=options,
        undefined=dict.fromkeys(scores.as_dict(), reason) if scores.f1 is None else {},
        per_output=per_output(counts),
    )


def per_output(counts: ScoreCounts) -> dict[str, FloatArray]:
    """Return the precision, recall and F1 of every output, each of shape (n,)."""
    precision, recall = ratio(counts.found, counts.hypothesis), ratio(counts.covered, counts.reference)
    return {"precision": precision, "recall": recall, "f1": harmonic_mean(precision, recall)}


def _pooled(counts: ScoreCounts) -> Scores:
    precision = ratio(counts.found.sum(keepdims=True), counts.hypothesis.sum(keepdims=True))
    recall = ratio(counts.covered.sum(keepdims=True), counts.reference.sum(keepdims=True))
    return Scores(float(precision[0]), float(recall[0]), float(harmonic_mean(precision, recall)[0]))
