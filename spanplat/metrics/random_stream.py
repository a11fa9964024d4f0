"""NumPy's legacy random stream as a table, so that many outputs can read it at once.

Published figures use a new ``numpy.random.RandomState(seed)`` for each output. So every output reads the *same* stream of doubles, but
takes different steps through it. A unit always takes one pair of normal deviates and one uniform deviate. The position after ``n``
units therefore depends only on the position before. The table has it for powers of two.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from spanplat.metrics.spans import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """First doubles of ``RandomState(seed)``, and the normal deviates that the polar method makes of them.

    Every array has one entry per position, and a last entry that stands for "past the end" and points to itself.

    Parameters
    ----------
    uniform : array of float
        The doubles.
    first, second : array of float
        The normal deviates made from the first accepted pair of doubles at or after a position, in the order of the generator.
    after_pair : array of int
        The position after that pair.
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
        """Position that stands for "past the end"."""
        return len(self.uniform) - 1

    def after_units(self, position: IntArray, units: IntArray) -> IntArray:
        """Return the positions after this many units, for each element."""
        for bit, jump in enumerate(self.jumps):
            position = np.where(units >> bit & 1, jump[position], position)
        return position


@lru_cache(maxsize=4)
def stream(seed: int, length: int, most_units: int) -> Stream:
    """Make the table of a stream.

    Parameters
    ----------
    seed : int
        Seed of ``numpy.random.RandomState``.
    length : int
        Number of doubles in the table.
    most_units : int
        Largest number of units for `Stream.after_units`.

    Returns
    -------
    Stream
    """
    uniform = np.random.RandomState(seed).random_sample(length)  # the stream of published figures, not `default_rng`
    # The polar method of NumPy's legacy generator: a pair of doubles becomes a point of a square, and counts if the
    # point is inside the unit circle.
    x1, x2 = 2.0 * uniform[:-1] - 1.0, 2.0 * uniform[1:] - 1.0
    square = x1 * x1 + x2 * x2
    accepted = (square < 1.0) & (square > 0.0)
    position = np.where(accepted, np.arange(length - 1), length)
    for parity in (0, 1):  # a rejected pair is followed by the next pair, two positions on
        reverse = position[parity::2][::-1]
        position[parity::2] = np.minimum.accumulate(reverse)[::-1]
    position = np.append(position, [length, length])
    # Positions without an accepted pair behind them read any valid place. Nobody uses their deviates.
    safe = np.minimum(position, length - 2)
    # 0.5 keeps the logarithm defined for rejected pairs.
    factor = np.sqrt(-2.0 * np.log(np.where(accepted, square, 0.5)) / np.where(accepted, square, 0.5))[safe]
    after_pair = np.minimum(position + 2, length)
    # One unit: a pair of deviates for gap and duration, then one double for the category.
    step = np.minimum(after_pair + 1, length)
    jumps = [step]
    while 2 ** len(jumps) <= most_units:
        # Two jumps of 2 ** b units are one of 2 ** (b + 1).
        jumps.append(jumps[-1][jumps[-1]])
    # The generator returns factor * x2 first and keeps factor * x1 for the next call.
    return Stream(np.append(uniform, 0.5), factor * x2[safe], factor * x1[safe], after_pair, tuple(jumps))
