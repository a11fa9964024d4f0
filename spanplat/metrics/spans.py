"""Spans as arrays: the spans of one side on every output, and the comparison of two aligned sides."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from spanplat.errors import InvalidInput

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Span(NamedTuple):
    """One marked part of a text, ``[start, end)`` in code points.

    ``category`` is the position in the campaign's category list. ``severity`` is a position on its severity scale, compared only
    for equality. ``side`` is 0 for the output and 1 for the source. An omission mark has equal ``start`` and ``end``.
    """

    start: int
    end: int
    category: int = 0
    severity: int = 0
    side: int = 0


def sum_by(group: IntArray, values: NDArray[np.generic], n_groups: int) -> FloatArray:
    """Sum values per group. ``values`` and ``group`` have the shape (m,), the sums have the shape (n_groups,)."""
    sums: FloatArray = np.bincount(group, weights=values, minlength=n_groups).astype(np.float64)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class SpanSet:
    """Spans of one side on ``n`` outputs, sorted by output (compressed rows).

    Parameters
    ----------
    offsets : array of int, shape (n + 1,)
        The spans of output ``i`` are at ``offsets[i]:offsets[i + 1]`` of the other arrays.
    start, end, category, severity, side : array of int, shape (spans,)
        See `Span`. Offsets are half-open, in code points.

    Notes
    -----
    An output may occur several times: once per annotator or per pair of annotators, if several are compared. Every measure treats each
    occurrence as one output.

    Examples
    --------
    >>> spans = SpanSet.from_lists([[(0, 9, 0), (16, 19, 1)], []])
    >>> spans.n_outputs, spans.n_spans, spans.lengths.tolist()
    (2, 2, [9, 3])
    """

    offsets: IntArray
    start: IntArray
    end: IntArray
    category: IntArray
    severity: IntArray
    side: IntArray

    def __post_init__(self) -> None:
        columns = (self.start, self.end, self.category, self.severity, self.side)
        if len(self.offsets) == 0 or any(len(column) != self.offsets[-1] for column in columns):
            raise InvalidInput(
                "A span set needs columns of equal length and offsets that end at that length; build it with SpanSet.from_lists."
            )
        wrong = np.flatnonzero((self.start < 0) | (self.end < self.start) | (self.category < 0))
        if len(wrong):
            at = int(wrong[0])
            raise InvalidInput(
                f"Span {at} is [{self.start[at]}, {self.end[at]}) with category {self.category[at]}: "
                "a span needs 0 <= start <= end and a category that is a position in the category list."
            )

    @classmethod
    def from_lists(cls, outputs: Iterable[Iterable[Sequence[int]]]) -> Self:
        """Build a span set from one list of spans per output.

        Parameters
        ----------
        outputs : iterable of iterables
            The spans of each output. A span is ``(start, end)``, ``(start, end, category)`` or a `Span` with severity and side.

        Returns
        -------
        SpanSet

        Raises
        ------
        InvalidInput
            If a span has fewer than two or more than five numbers, or ends before it starts.
        """
        rows: list[Span] = []
        ends = [0]
        for position, spans in enumerate(outputs):
            for span in spans:
                if not 2 <= len(span) <= len(Span._fields):
                    raise InvalidInput(
                        f"Output {position} has the span {tuple(span)!r}; give (start, end, category) or a Span."
                    )
                rows.append(Span(*span))
            ends.append(len(rows))
        # `reshape` gives an empty list of spans its columns.
        columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(Span._fields)).T.copy()
        return cls(np.array(ends, dtype=np.int64), *columns)

    @classmethod
    def from_columns(
        cls,
        output: IntArray,
        *,
        n_outputs: int,
        start: IntArray,
        end: IntArray,
        category: IntArray,
        severity: IntArray | None = None,
        side: IntArray | None = None,
    ) -> Self:
        """Build a span set from one row per span. The rows may be in any order of outputs.

        Parameters
        ----------
        output : array of int, shape (spans,)
            The output of each span, from 0 to ``n_outputs - 1``.
        n_outputs : int
            Number of outputs, including those without spans.
        start, end, category, severity, side : array of int, shape (spans,)
            See `Span`. Severity and side are zeros by default.

        Returns
        -------
        SpanSet
            The spans of one output keep their order.
        """
        # A stable sort keeps that order. Greedy measures and the confusion matrix depend on it.
        order = np.argsort(output, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(output, minlength=n_outputs))]).astype(np.int64)
        zeros = np.zeros(len(order), dtype=np.int64)
        columns = (start, end, category, zeros if severity is None else severity, zeros if side is None else side)
        return cls(offsets, *(np.asarray(column, dtype=np.int64)[order] for column in columns))

    @classmethod
    def concatenate(cls, parts: Sequence["SpanSet"]) -> Self:
        """Concatenate the outputs of several span sets.

        Examples
        --------
        >>> one = SpanSet.from_lists([[(0, 4)]])
        >>> SpanSet.concatenate([one, one]).n_outputs
        2
        """
        counts = np.concatenate([part.counts for part in parts])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        columns = ("start", "end", "category", "severity", "side")
        return cls(offsets, *(np.concatenate([getattr(part, column) for part in parts]) for column in columns))

    @property
    def n_outputs(self) -> int:
        """Number of outputs, including those without spans."""
        return len(self.offsets) - 1

    @property
    def n_spans(self) -> int:
        """Number of spans on all outputs together."""
        return len(self.start)

    @property
    def counts(self) -> IntArray:
        """Number of spans per output, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def output(self) -> IntArray:
        """Output of each span, shape (spans,)."""
        return np.repeat(np.arange(self.n_outputs, dtype=np.int64), self.counts)

    @property
    def lengths(self) -> IntArray:
        """Length of every span in code points, shape (spans,)."""
        return self.end - self.start

    def keep(self, mask: BoolArray) -> Self:
        """Return the spans where ``mask`` (shape (spans,)) is true. Every output stays, perhaps without spans."""
        # The new offset of an output is the number of kept spans before its old offset.
        offsets = np.concatenate([[0], np.cumsum(mask)]).astype(np.int64)[self.offsets]
        columns = (self.start, self.end, self.category, self.severity, self.side)
        return type(self)(offsets, *(column[mask] for column in columns))

    def select(self, outputs: IntArray) -> Self:
        """Return the outputs with these positions, in this order. A position may occur several times."""
        counts = self.counts[outputs]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        # Positions of the selected spans: their new positions, shifted by the distance of each output from its old place.
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][outputs] - offsets[:-1], counts)
        columns = (self.start, self.end, self.category, self.severity, self.side)
        return type(self)(offsets, *(column[rows] for column in columns))

    def of_category(self, category: int) -> Self:
        """Return the spans of one category."""
        return self.keep(self.category == category)

    def without_categories(self) -> Self:
        """Return the same spans with category 0, as *soft* measures compare them."""
        columns = (self.start, self.end, np.zeros_like(self.category), self.severity, self.side)
        return type(self)(self.offsets, *columns)

    def to_lists(self) -> list[list[Span]]:
        """Return one list of `Span` per output."""
        rows = np.stack([self.start, self.end, self.category, self.severity, self.side], axis=1).tolist()
        bounds = self.offsets.tolist()
        return [[Span(*row) for row in rows[low:high]] for low, high in pairwise(bounds)]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two sides on the same outputs, as every agreement measure takes them.

    Parameters
    ----------
    reference, hypothesis : SpanSet
        The spans of both sides. Position ``i`` is the same output in both. A comparison has only outputs that both sides completed: an
        output that a side did not complete is absent, not empty.
    categories : tuple of str
        Names of the categories in the campaign's order. Span categories are positions in it.
    strata : mapping of str to array, optional
        Groupings of the outputs (for example ``{"dataset": codes}``, shape (n,)).

    Raises
    ------
    InvalidInput
        If the sides have different numbers of outputs, or if a span has a category that is not in the list.

    Examples
    --------
    >>> pair = Comparison.of(reference=[[(0, 5, 0)]], hypothesis=[[(0, 5, 0), (7, 9, 1)]], categories=["wrong", "unclear"])
    >>> pair.n_outputs, pair.n_categories
    (1, 2)
    """

    reference: SpanSet
    hypothesis: SpanSet
    categories: tuple[str, ...]
    strata: Mapping[str, IntArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.reference.n_outputs != self.hypothesis.n_outputs:
            raise InvalidInput(
                f"The reference has {self.reference.n_outputs} outputs and the hypothesis {self.hypothesis.n_outputs}: "
                "align both sides on the outputs that both completed."
            )
        for name, spans in (("reference", self.reference), ("hypothesis", self.hypothesis)):
            highest = int(spans.category.max(initial=-1))
            if highest >= self.n_categories:
                raise InvalidInput(
                    f"The {name} uses category {highest}, but only {self.n_categories} categories are named; "
                    "give the campaign's complete category list."
                )
        for name, groups in self.strata.items():
            if len(groups) != self.n_outputs:
                raise InvalidInput(
                    f"The strata {name!r} name {len(groups)} outputs, the comparison has {self.n_outputs}."
                )

    @classmethod
    def of(
        cls,
        reference: Iterable[Iterable[Sequence[int]]],
        hypothesis: Iterable[Iterable[Sequence[int]]],
        categories: Sequence[str] | None = None,
    ) -> Self:
        """Build a comparison from two lists of span lists. Without names, the numbers are the names of the categories."""
        sides = SpanSet.from_lists(reference), SpanSet.from_lists(hypothesis)
        highest = max(int(side.category.max(initial=-1)) for side in sides)
        names = tuple(str(code) for code in range(highest + 1)) if categories is None else tuple(categories)
        return cls(*sides, names)

    @property
    def n_outputs(self) -> int:
        """Number of compared outputs."""
        return self.reference.n_outputs

    @property
    def n_categories(self) -> int:
        """Number of categories of the campaign."""
        return len(self.categories)

    def stratum(self, by: str | None) -> IntArray | None:
        """Return the group of every output in the grouping with this name, or ``None`` without a name."""
        if by is None:
            return None
        if by not in self.strata:
            known = ", ".join(sorted(self.strata)) or "none"
            raise InvalidInput(f"There is no grouping {by!r} of the outputs; this comparison has: {known}.")
        return self.strata[by]

    def swap(self) -> Self:
        """Return the same comparison with the sides exchanged."""
        return type(self)(self.hypothesis, self.reference, self.categories, self.strata)

    def select(self, outputs: IntArray) -> Self:
        """Return the outputs with these positions, in this order. A position may occur several times."""
        strata = {name: groups[outputs] for name, groups in self.strata.items()}
        return type(self)(self.reference.select(outputs), self.hypothesis.select(outputs), self.categories, strata)

    def of_category(self, category: int) -> Self:
        """Return the comparison with the spans of one category on both sides. All outputs stay."""
        sides = self.reference.of_category(category), self.hypothesis.of_category(category)
        return type(self)(*sides, self.categories, self.strata)

    def without_categories(self) -> Self:
        """Return the comparison for *soft* measures, in which all spans have category 0."""
        sides = self.reference.without_categories(), self.hypothesis.without_categories()
        return type(self)(*sides, self.categories, self.strata)
