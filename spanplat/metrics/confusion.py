"""Confusion matrix of the categories of two sides."""

from dataclasses import dataclass

import numpy as np

from spanplat.metrics.overlaps import overlaps
from spanplat.metrics.spans import Comparison, FloatArray, IntArray

NONE = "none"
"""Label of the row of hypothesis spans without a counterpart and of the column of reference spans without one."""


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Counts of (reference category, hypothesis category). The last row and column have the spans without a partner.

    Parameters
    ----------
    labels : tuple of str
        The categories and ``"none"``.
    matrix : array of int, shape (labels, labels)
        Rows are reference categories, columns hypothesis categories.
    pairs : array of int, shape (pairs, 2)
        Positions of the paired reference and hypothesis spans.
    """

    labels: tuple[str, ...]
    matrix: IntArray
    pairs: IntArray

    @property
    def normalised(self) -> FloatArray:
        """Matrix in which every row sums to 1. Rows without spans are NaN."""
        total = self.matrix.sum(axis=1, keepdims=True).astype(np.float64)
        shares: FloatArray = np.divide(self.matrix, total, out=np.full(self.matrix.shape, np.nan), where=total > 0)
        return shares


def confusion(pair: Comparison) -> Confusion:
    """Pair each hypothesis span with the free reference span that it overlaps most, and count categories.

    Hypothesis spans choose in their order. Of equally good reference spans the first is taken.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.

    Returns
    -------
    Confusion

    Examples
    --------
    >>> pair = Comparison.of(reference=[[(0, 9, 0)]], hypothesis=[[(0, 5, 1), (20, 22, 0)]], categories=["a", "b"])
    >>> confusion(pair).matrix.tolist()
    [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    """
    candidates = overlaps(pair, soft=True)
    order = np.lexsort((candidates.reference, -candidates.common, candidates.hypothesis))
    taken: dict[int, int] = {}  # reference span -> hypothesis span
    served: set[int] = set()
    for hypothesis, reference in zip(
        candidates.hypothesis[order].tolist(), candidates.reference[order].tolist(), strict=True
    ):
        if hypothesis not in served and reference not in taken:
            taken[reference] = hypothesis
            served.add(hypothesis)
    # `reshape` gives an empty list of pairs its two columns.
    pairs = np.array(sorted(taken.items()), dtype=np.int64).reshape(-1, 2)
    none = pair.n_categories
    rows, columns = np.full(pair.hypothesis.n_spans, none), np.full(pair.reference.n_spans, none)
    rows[pairs[:, 1]] = pair.reference.category[pairs[:, 0]]
    columns[pairs[:, 0]] = pair.hypothesis.category[pairs[:, 1]]
    matrix = np.zeros((none + 1, none + 1), dtype=np.int64)
    np.add.at(matrix, (rows, pair.hypothesis.category), 1)
    # Paired reference spans were counted from the other side.
    alone = columns == none
    np.add.at(matrix, (pair.reference.category[alone], columns[alone]), 1)
    return Confusion((*pair.categories, NONE), matrix, pairs)
