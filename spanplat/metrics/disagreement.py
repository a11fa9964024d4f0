"""Clusters of overlapping spans of two sides. The type of a cluster says how the sides differ."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

from spanplat.metrics.overlaps import overlaps
from spanplat.metrics.spans import BoolArray, Comparison, IntArray, SpanSet


class ClusterType(StrEnum):
    """Type of a cluster of overlapping spans."""

    AGREEMENT = "agreement"
    """Both sides have the same span: borders, category, and severity if both sides use severities."""
    MISSING = "missing"
    """Only the reference has a span."""
    EXTRA = "extra"
    """Only the hypothesis has a span."""
    CATEGORY = "category"
    """The sides have different categories. The borders may differ too."""
    BOUNDARY = "boundary"
    """The sides have the same categories and different borders."""
    SEVERITY = "severity"
    """The sides have the same spans with different severities."""
    SPLIT_MERGE = "split_merge"
    """The sides have different numbers of spans."""


TYPES = tuple(ClusterType)
"""All types. The type code of a cluster is a position in this tuple."""

DISAGREEMENTS = tuple(kind for kind in TYPES if kind is not ClusterType.AGREEMENT)

SpanKey = tuple[IntArray, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Clusters of a comparison, sorted by output, and from left to right within an output.

    Parameters
    ----------
    output : array of int, shape (clusters,)
        The output of each cluster.
    type_code : array of int, shape (clusters,)
        The type of each cluster, a position in `TYPES`.
    reference, hypothesis : array of int, shape (spans,)
        The cluster of each span of the side.
    n_outputs : int
        Number of outputs, those without clusters included.
    """

    output: IntArray
    type_code: IntArray
    reference: IntArray
    hypothesis: IntArray
    n_outputs: int

    def __len__(self) -> int:
        return len(self.output)

    @property
    def types(self) -> list[ClusterType]:
        """The type of each cluster."""
        return [TYPES[code] for code in self.type_code.tolist()]

    @property
    def counts(self) -> IntArray:
        """Number of clusters by output and type, shape (n, types). Columns are in the order of `TYPES`."""
        cell = self.output * len(TYPES) + self.type_code
        counted: IntArray = np.bincount(cell, minlength=self.n_outputs * len(TYPES)).astype(np.int64)
        return counted.reshape(self.n_outputs, len(TYPES))


def cluster_spans(pair: Comparison) -> Clusters:
    """Cluster the spans of both sides, and determine the type of each cluster.

    A span that is equal on both sides is a cluster of its own. A longer span around it does not hide this agreement. The other spans
    form a graph with an edge for each overlap of a reference span and a hypothesis span. Its connected components are clusters. If one
    side is empty, the type is ``missing`` or ``extra``. If the numbers of spans differ, it is ``split_merge``. Else it is the first of
    category, borders and severity in which the sides differ.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis. Severities count only if both sides use them. Otherwise a campaign without severities could not agree
        with one that has them.

    Returns
    -------
    Clusters
        Every span of either side is in exactly one cluster.

    Examples
    --------
    >>> pair = Comparison.of(
    ...     reference=[[(0, 5, 0), (10, 30, 1), (40, 44, 0), (50, 55, 0)]],
    ...     hypothesis=[[(0, 5, 0), (10, 18, 1), (20, 30, 1), (40, 44, 1), (60, 70, 1)]],
    ...     categories=["wrong", "unclear"],
    ... )
    >>> clusters = cluster_spans(pair)
    >>> [str(kind) for kind in clusters.types]
    ['agreement', 'split_merge', 'category', 'missing', 'extra']
    >>> clusters.hypothesis.tolist()
    [0, 1, 1, 2, 4]
    """
    reference, hypothesis = _with_comparable_severities(pair)
    alike_reference, alike_hypothesis = _alike(reference, hypothesis)
    label_reference, label_hypothesis = _components(pair, alike_reference, alike_hypothesis)
    labels, start, output = _extent(reference, hypothesis, label_reference, label_hypothesis)
    order = np.lexsort((labels, start, output))
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    of_reference = rank[np.searchsorted(labels, label_reference)]
    of_hypothesis = rank[np.searchsorted(labels, label_hypothesis)]
    type_code = _type_codes(reference, hypothesis, of_reference, of_hypothesis, len(labels))
    return Clusters(output[order], type_code, of_reference, of_hypothesis, pair.n_outputs)


def _with_comparable_severities(pair: Comparison) -> tuple[SpanSet, SpanSet]:
    sides = pair.reference, pair.hypothesis
    if all(side.severity.any() for side in sides):
        return sides
    plain = [
        SpanSet(side.offsets, side.start, side.end, side.category, np.zeros_like(side.severity), side.side)
        for side in sides
    ]
    return plain[0], plain[1]


def _alike(reference: SpanSet, hypothesis: SpanSet) -> tuple[IntArray, IntArray]:
    """Pair equal spans one to one. Return the partner of each span on the other side, or -1."""
    sides = reference, hypothesis
    table = np.concatenate(
        [np.stack([s.output, s.side, s.start, s.end, s.category, s.severity], axis=1) for s in sides]
    )
    _, same = np.unique(table, axis=0, return_inverse=True)
    same = same.reshape(-1)
    # One side may have the same span twice. The number of the copy makes each span unique: second copies pair with each other.
    numbered = [np.stack([part, _copy_number(part)], axis=1) for part in np.split(same, [reference.n_spans])]
    _, identity = np.unique(np.concatenate(numbered), axis=0, return_inverse=True)
    identity = identity.reshape(-1)
    left, right = np.split(identity, [reference.n_spans])
    _, of_left, of_right = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    partners = np.full(reference.n_spans, -1), np.full(hypothesis.n_spans, -1)
    partners[0][of_left], partners[1][of_right] = of_right, of_left
    return partners


def _copy_number(group: IntArray) -> IntArray:
    """Return the number of each member in its group, from 0, in their order."""
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order], side="left")
    number = np.empty(len(group), dtype=np.int64)
    number[order] = np.arange(len(group)) - first
    return number


def _components(pair: Comparison, alike_reference: IntArray, alike_hypothesis: IntArray) -> tuple[IntArray, IntArray]:
    """Label the connected components, shapes (reference spans,) and (hypothesis spans,)."""
    n_reference, n_hypothesis = len(alike_reference), len(alike_hypothesis)
    # `soft=True`, because spans of different categories belong to one cluster, of type `CATEGORY`.
    candidates = overlaps(pair, soft=True)
    left_over = (alike_reference[candidates.reference] < 0) & (alike_hypothesis[candidates.hypothesis] < 0)
    paired = np.flatnonzero(alike_reference >= 0)
    rows = np.concatenate([candidates.reference[left_over], paired])
    columns = n_reference + np.concatenate([candidates.hypothesis[left_over], alike_reference[paired]])
    size = n_reference + n_hypothesis
    graph = scipy.sparse.coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    if size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    labels = scipy.sparse.csgraph.connected_components(graph.tocsr(), directed=False)[1].astype(np.int64)
    return labels[:n_reference], labels[n_reference:]


def _extent(
    reference: SpanSet, hypothesis: SpanSet, label_reference: IntArray, label_hypothesis: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the labels in ascending order, with the start of the leftmost span and the output."""
    label = np.concatenate([label_reference, label_hypothesis])
    start = np.concatenate([reference.start, hypothesis.start])
    output = np.concatenate([reference.output, hypothesis.output])
    order = np.lexsort((start, label))
    labels, first = np.unique(label[order], return_index=True)
    return labels, start[order][first], output[order][first]


def _type_codes(
    reference: SpanSet, hypothesis: SpanSet, of_reference: IntArray, of_hypothesis: IntArray, n_clusters: int
) -> IntArray:
    in_reference = np.bincount(of_reference, minlength=n_clusters)
    in_hypothesis = np.bincount(of_hypothesis, minlength=n_clusters)
    # Only clusters with equally many spans on both sides can be compared member by member.
    balanced = in_reference == in_hypothesis
    keep_reference, keep_hypothesis = balanced[of_reference], balanced[of_hypothesis]

    def equal(*columns: str) -> BoolArray:
        left = [getattr(reference, column)[keep_reference] for column in columns]
        right = [getattr(hypothesis, column)[keep_hypothesis] for column in columns]
        return _same_members(left, right, of_reference[keep_reference], of_hypothesis[keep_hypothesis], n_clusters)

    # The first condition that holds decides, so the order matters: one side empty, then numbers, then equality.
    conditions = {
        ClusterType.MISSING: in_hypothesis == 0,
        ClusterType.EXTRA: in_reference == 0,
        ClusterType.SPLIT_MERGE: ~balanced,
        ClusterType.AGREEMENT: equal("start", "end", "category", "severity"),
        ClusterType.SEVERITY: equal("start", "end", "category"),
        ClusterType.BOUNDARY: equal("category") & ~equal("start", "end"),
    }
    codes = [TYPES.index(kind) for kind in conditions]
    chosen: IntArray = np.select(list(conditions.values()), codes, default=TYPES.index(ClusterType.CATEGORY)).astype(
        np.int64
    )
    return chosen


def _same_members(
    left: list[IntArray], right: list[IntArray], of_left: IntArray, of_right: IntArray, n_clusters: int
) -> BoolArray:
    """Return for each cluster whether both sides have the same rows, in any order. Both sides have equally many rows per cluster."""
    # Sorted by cluster and then by value, equal rows of both sides are at the same position.
    order_left, order_right = np.lexsort((*left, of_left)), np.lexsort((*right, of_right))
    differs = np.zeros(len(of_left), dtype=np.bool_)
    for mine, theirs in zip(left, right, strict=True):
        differs |= mine[order_left] != theirs[order_right]
    differences = np.bincount(of_left[order_left], weights=differs, minlength=n_clusters)
    same: BoolArray = differences == 0
    return same
