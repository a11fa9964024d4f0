"""NumPy's legacy random stream, laid out as a table so that many outputs can read it at once.

Seed parity means one fresh ``numpy.random.RandomState(seed)`` per output: every output reads the *same* stream of doubles and only
walks through it differently. A unit always takes one pair of normal deviates and one uniform deviate, so the walk over ``n`` units
from a position is a function of the position alone, tabulated here once for powers of two.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spanplat.metrics.spans import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """The first doubles of ``RandomState(seed)`` and what the polar method makes of them.

    Every array has one entry per position plus a last one that stands for "past the end" and points to itself.

    Parameters
    ----------
    uniform : array of float
        The doubles themselves.
    first, second : array of float
        The pair of normal deviates made from the first accepted pair of doubles at or after a position, in the order they are given.
    after_pair : array of int
        The position behind that pair.
    jumps : tuple of array of int
        ``jumps[b][p]`` is the position after ``2 ** b`` units that begin at ``p``.
    """

    uniform: FloatArray
    first: FloatArray
    second: FloatArray
    after_pair: IntArray
    jumps: tuple[IntArray, ...]

    @property
    def end(self) -> int:
        """The position that stands for "past the end"."""
        return len(self.uniform) - 1

    def after_units(self, position: IntArray, units: IntArray) -> IntArray:
        """Give the positions after walking over this many units, element by element."""
        for bit, jump in enumerate(self.jumps):
            position = np.where(units >> bit & 1, jump[position], position)
        return position


@lru_cache(maxsize=4)
def stream(seed: int, length: int, most_units: int) -> Stream:
    """Tabulate a stream.

    Parameters
    ----------
    seed : int
        Seed of ``numpy.random.RandomState``.
    length : int
        How many doubles to lay out.
    most_units : int
        The longest walk `Stream.after_units` must be able to make.

    Returns
    -------
    Stream
    """
    uniform = np.random.RandomState(seed).random_sample(length)  # the legacy stream is the point
    x1, x2 = 2.0 * uniform[:-1] - 1.0, 2.0 * uniform[1:] - 1.0
    square = x1 * x1 + x2 * x2
    accepted = (square < 1.0) & (square > 0.0)
    position = np.where(accepted, np.arange(length - 1), length)
    for parity in (0, 1):  # a rejected pair is followed by the next pair, two positions on
        reverse = position[parity::2][::-1]
        position[parity::2] = np.minimum.accumulate(reverse)[::-1]
    position = np.append(position, [length, length])
    safe = np.minimum(position, length - 2)
    factor = np.sqrt(-2.0 * np.log(np.where(accepted, square, 0.5)) / np.where(accepted, square, 0.5))[safe]
    after_pair = np.minimum(position + 2, length)
    step = np.minimum(after_pair + 1, length)
    jumps = [step]
    while 2 ** len(jumps) <= most_units:
        jumps.append(jumps[-1][jumps[-1]])
    return Stream(np.append(uniform, 0.5), factor * x2[safe], factor * x1[safe], after_pair, tuple(jumps))
