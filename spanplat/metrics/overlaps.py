"""Pairs of spans that can match: same output, same side, same category (unless soft), and common characters."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from spanplat.metrics.spans import BoolArray, Comparison, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Pairs of overlapping spans, ordered by hypothesis span, then reference span.

    Parameters
    ----------
    output : array of int, shape (pairs,)
        The output of the pair.
    hypothesis, reference : array of int, shape (pairs,)
        Positions of the two spans in their span sets.
    common : array of int, shape (pairs,)
        Number of common characters. Two omission marks at the same place have one.
    of_hypothesis, of_reference : array of float, shape (pairs,)
        ``common`` as a share of the hypothesis span and of the reference span.
    value : array of float, shape (pairs,)
        1, minus the severity penalty if the severities differ.
    """

    output: IntArray
    hypothesis: IntArray
    reference: IntArray
    common: IntArray
    of_hypothesis: FloatArray
    of_reference: FloatArray
    value: FloatArray
    identical: BoolArray

    def keep(self, mask: BoolArray) -> Self:
        """Return the pairs where ``mask`` is true."""
        return type(self)(
            self.output[mask],
            self.hypothesis[mask],
            self.reference[mask],
            self.common[mask],
            self.of_hypothesis[mask],
            self.of_reference[mask],
            self.value[mask],
            self.identical[mask],
        )

    @property
    def dice(self) -> FloatArray:
        """Dice coefficient 2 |∩| / (|ŝ| + |s|), times ``value``."""
        length = self.common / self.of_hypothesis + self.common / self.of_reference
        return 2 * self.common / length * self.value


def overlaps(pair: Comparison, *, soft: bool = False, severity_penalty: float = 0.0) -> Overlaps:
    """List all overlapping pairs of a comparison.

    An omission mark (zero characters) overlaps only an omission mark at the same place. This overlap counts as one character.

    Parameters
    ----------
    pair : Comparison
        Reference and hypothesis.
    soft : bool
        Whether spans of different categories may match.
    severity_penalty : float
        Deduction for a pair of spans with different severities, 0 to 1.

    Returns
    -------
    Overlaps
    """
    left, right = pair.hypothesis, pair.reference
    # All pairs of spans of the same output, as two arrays of positions. A loop over outputs would be slow.
    per_span = right.counts[left.output]
    hypothesis = np.repeat(np.arange(left.n_spans), per_span)
    first = np.cumsum(per_span) - per_span
    # The k-th pair of a hypothesis span has the k-th reference span of its output.
    reference = np.arange(len(hypothesis)) - np.repeat(first - right.offsets[:-1][left.output], per_span)
    common = np.minimum(left.end[hypothesis], right.end[reference]) - np.maximum(
        left.start[hypothesis], right.start[reference]
    )
    marks = (left.lengths[hypothesis] == 0) & (right.lengths[reference] == 0) & (common == 0)
    common = np.where(marks, 1, common)
    comparable = (common > 0) & (left.side[hypothesis] == right.side[reference])
    if not soft:
        comparable &= left.category[hypothesis] == right.category[reference]
    hypothesis, reference, common = hypothesis[comparable], reference[comparable], common[comparable]
    differs = left.severity[hypothesis] != right.severity[reference]
    same_borders = (left.start[hypothesis] == right.start[reference]) & (left.end[hypothesis] == right.end[reference])
    return Overlaps(
        output=left.output[hypothesis],
        hypothesis=hypothesis,
        reference=reference,
        common=common,
        # An omission mark has no length and one common character, so its share is 1.
        of_hypothesis=common / np.maximum(left.lengths[hypothesis], 1),
        of_reference=common / np.maximum(right.lengths[reference], 1),
        value=np.where(differs, 1.0 - severity_penalty, 1.0),
        identical=same_borders,
    )
