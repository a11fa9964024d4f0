"""Spans as arrays: what one side marked on every output, and two aligned sides that are compared."""

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
    """One marked stretch of text, ``[start, end)`` in code points.

    ``category`` is the position in the campaign's category list, ``severity`` a position on its severity scale (compared for
    equality only), ``side`` is 0 for the output and 1 for the source. Equal ``start`` and ``end`` make an omission mark.
    """

    start: int
    end: int
    category: int = 0
    severity: int = 0
    side: int = 0


def sum_by(group: IntArray, values: NDArray[np.generic], n_groups: int) -> FloatArray:
    """Sum values per group: ``values`` and ``group`` of shape (m,), the sums of shape (n_groups,)."""
    sums: FloatArray = np.bincount(group, weights=values, minlength=n_groups).astype(np.float64)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class SpanSet:
    """The spans of one side on ``n`` outputs, output after output (compressed rows).

    Parameters
    ----------
    offsets : array of int, shape (n + 1,)
        The spans of output ``i`` stand at ``offsets[i]:offsets[i + 1]`` of the other arrays.
    start, end, category, severity, side : array of int, shape (spans,)
        See `Span`. Offsets are half-open, in code points.

    Notes
    -----
    An output may occur several times: comparing every annotator of a side (or all pairs of annotators) repeats the output,
    once per annotator or pair. Every measure treats each occurrence as one output.

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
        """Build from one list of spans per output.

        Parameters
        ----------
        outputs : iterable of iterables
            Per output its spans, each ``(start, end)``, ``(start, end, category)`` or a `Span` with severity and side.

        Returns
        -------
        SpanSet

        Raises
        ------
        InvalidInput
            When a span is shorter than two or longer than five numbers, or runs backwards.
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
        """Build from one row per span in any order of outputs.

        Parameters
        ----------
        output : array of int, shape (spans,)
            The output (0 to ``n_outputs - 1``) each span belongs to.
        n_outputs : int
            Number of outputs, the ones without spans included.
        start, end, category, severity, side : array of int, shape (spans,)
            See `Span`; severity and side default to zeros.

        Returns
        -------
        SpanSet
            The spans of one output keep the order they were given in.
        """
        order = np.argsort(output, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(output, minlength=n_outputs))]).astype(np.int64)
        zeros = np.zeros(len(order), dtype=np.int64)
        columns = (start, end, category, zeros if severity is None else severity, zeros if side is None else side)
        return cls(offsets, *(np.asarray(column, dtype=np.int64)[order] for column in columns))

    @classmethod
    def concatenate(cls, parts: Sequence["SpanSet"]) -> Self:
        """Put the outputs of several span sets one after the other.

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
        """Number of outputs, those without spans included."""
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
        """The output each span belongs to, shape (spans,)."""
        return np.repeat(np.arange(self.n_outputs, dtype=np.int64), self.counts)

    @property
    def lengths(self) -> IntArray:
        """Length of every span in code points, shape (spans,)."""
        return self.end - self.start

    def keep(self, mask: BoolArray) -> Self:
        """Only the spans where ``mask`` (shape (spans,)) is true; every output stays, if need be without spans."""
        offsets = np.concatenate([[0], np.cumsum(mask)]).astype(np.int64)[self.offsets]
        columns = (self.start, self.end, self.category, self.severity, self.side)
        return type(self)(offsets, *(column[mask] for column in columns))

    def select(self, outputs: IntArray) -> Self:
        """Take the outputs with these positions, in this order; a position may occur several times."""
        counts = self.counts[outputs]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][outputs] - offsets[:-1], counts)
        columns = (self.start, self.end, self.category, self.severity, self.side)
        return type(self)(offsets, *(column[rows] for column in columns))

    def of_category(self, category: int) -> Self:
        """Only the spans of one category."""
        return self.keep(self.category == category)

    def without_categories(self) -> Self:
        """Give the same spans, all of category 0: what a *soft* measure compares."""
        columns = (self.start, self.end, np.zeros_like(self.category), self.severity, self.side)
        return type(self)(self.offsets, *columns)

    def to_lists(self) -> list[list[Span]]:
        """One list of `Span` per output."""
        rows = np.stack([self.start, self.end, self.category, self.severity, self.side], axis=1).tolist()
        bounds = self.offsets.tolist()
        return [[Span(*row) for row in rows[low:high]] for low, high in pairwise(bounds)]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two sides on the same outputs: what every agreement measure takes.

    Parameters
    ----------
    reference, hypothesis : SpanSet
        The spans of both sides; position ``i`` is the same output in both. Only outputs that both sides completed belong here:
        an output a side never completed is absent, not empty.
    categories : tuple of str
        Names of the categories in the campaign's order; span categories are positions in it.
    strata : mapping of str to array, optional
        Groupings of the outputs (for example ``{"dataset": codes}``, shape (n,)).

    Raises
    ------
    InvalidInput
        When the sides have different numbers of outputs, or a span has a category that is not in the list.

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
        """Build from two lists of span lists; without names the categories are called after their numbers."""
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
        """Give the group of every output under the grouping of this name; ``None`` without a name."""
        if by is None:
            return None
        if by not in self.strata:
            known = ", ".join(sorted(self.strata)) or "none"
            raise InvalidInput(f"There is no grouping {by!r} of the outputs; this comparison has: {known}.")
        return self.strata[by]

    def swap(self) -> Self:
        """Give the same comparison with the sides exchanged."""
        return type(self)(self.hypothesis, self.reference, self.categories, self.strata)

    def select(self, outputs: IntArray) -> Self:
        """Take the outputs with these positions, in this order; a position may occur several times."""
        strata = {name: groups[outputs] for name, groups in self.strata.items()}
        return type(self)(self.reference.select(outputs), self.hypothesis.select(outputs), self.categories, strata)

    def of_category(self, category: int) -> Self:
        """Only the spans of one category on both sides; all outputs stay."""
        sides = self.reference.of_category(category), self.hypothesis.of_category(category)
        return type(self)(*sides, self.categories, self.strata)

    def without_categories(self) -> Self:
        """Give the comparison a *soft* measure sees: all spans of category 0."""
        sides = self.reference.without_categories(), self.hypothesis.without_categories()
        return type(self)(*sides, self.categories, self.strata)
