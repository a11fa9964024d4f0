"""Random samples for the expected disorder of γ, exactly as the *statistical* sampler of pygamma-agreement draws them."""

from dataclasses import dataclass

import numpy as np

from spanplat.metrics.random_stream import Stream, stream
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray
from spanplat.metrics.units import Fits, Units

SHORTEST = 1e-6
"""Shortest duration. The sampler draws shorter durations again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Runs, one per (output, sample, annotator): position in the stream, number of units, and the unused deviate of a pair."""

    position: IntArray
    units: IntArray
    spare: FloatArray
    has_spare: BoolArray


def draw(fits: Fits, *, n_annotators: int, n_samples: int, seed: int) -> Units:
    """Draw the samples of many outputs. Each output has its own ``RandomState(seed)``.

    Parameters
    ----------
    fits : Fits
        The fitted distributions of ``n`` outputs.
    n_annotators, n_samples : int
        Annotators per sample and samples per output.
    seed : int
        The seed of every output.

    Returns
    -------
    Units
        Row ``(output * n_samples + sample) * n_annotators + annotator``.
    """
    # A unit takes about 3.5 doubles: two for each of the 4/π pairs until one is accepted, and one for its category. 6
    # leaves room, and a table that is too short after all is doubled.
    expected = n_samples * n_annotators * (fits.count[0] + fits.count[1] + 2).max(initial=1.0)
    # A power of two, so that calls with similar data find the same table in the cache of `stream`.
    length = 1 << int(6 * expected + 256).bit_length()
    while True:
        table = stream(seed, length, length // 4)
        runs = _locate(fits, table, n_annotators=n_annotators, n_samples=n_samples)
        if runs is not None:
            break
        length *= 2
    # A duration that is drawn again shifts the rest of the output's stream. This is rare, so these outputs are drawn one by one.
    units, redraw = _expand(fits, runs, table, runs_per_output=n_annotators * n_samples)
    if not redraw.any():
        return units
    return _replace(units, fits, np.flatnonzero(redraw), n_annotators=n_annotators, n_samples=n_samples, seed=seed)


def draw_one_by_one(
    fits: Fits, output: int, *, n_annotators: int, n_samples: int, seed: int
) -> list[list[tuple[float, float, int]]]:
    """Draw the samples of one output, one deviate after the other. It defines the stream, and it handles redrawn durations.

    Parameters
    ----------
    fits : Fits
        The fitted distributions.
    output : int
        Position of the output.
    n_annotators, n_samples, seed : int
        See `draw`.

    Returns
    -------
    list of lists
        Units ``(start, end, category)`` for each (sample, annotator).
    """
    random = np.random.RandomState(seed)  # the stream of published figures, not `default_rng`
    (count_mean, count_sd), (gap_mean, gap_sd), (duration_mean, duration_sd) = (
        (mean[output], deviation[output]) for mean, deviation in (fits.count, fits.gap, fits.duration)
    )
    rows: list[list[tuple[float, float, int]]] = []
    for _ in range(n_samples):
        drawn = 0
        for _ in range(n_annotators):
            count = abs(int(random.normal(count_mean, count_sd)))
            # A sample needs at least one unit, otherwise it has no disorder.
            count = max(1, count) if drawn == 0 else count
            drawn += count
            row: list[tuple[float, float, int]] = []
            end = 0.0
            for _ in range(count):
                start = end + random.normal(gap_mean, gap_sd)
                duration = abs(random.normal(duration_mean, duration_sd))
                while duration < SHORTEST:
                    duration = abs(random.normal(duration_mean, duration_sd))
                end = start + duration
                label = int(np.searchsorted(fits.cumulative[output], random.random_sample(), side="right"))
                row.append((start, end, int(fits.labels[label])))
            rows.append(row)
    return rows


def _locate(fits: Fits, table: Stream, *, n_annotators: int, n_samples: int) -> _Runs | None:
    """Find the runs of all outputs in the stream at once. Return ``None`` if the stream is too short."""
    size = len(fits)
    position = np.zeros(size, dtype=np.int64)
    has_spare = np.zeros(size, dtype=bool)
    spare = np.zeros(size)
    shape = (n_samples, n_annotators, size)
    positions, counts = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    spares, have_spare = np.empty(shape), np.empty(shape, dtype=bool)
    mean, deviation = fits.count
    for sample in range(n_samples):
        drawn = np.zeros(size, dtype=np.int64)
        for annotator in range(n_annotators):
            # The polar method makes two normal deviates at once. The legacy generator keeps the second for the next call.
            deviate = np.where(has_spare, spare, table.first[position])
            spare = table.second[position]
            position = np.where(has_spare, position, table.after_pair[position])
            has_spare = ~has_spare
            count = np.abs((mean + deviation * deviate).astype(np.int64))
            count = np.where(drawn == 0, np.maximum(count, 1), count)
            drawn += count
            here = (sample, annotator)
            positions[here], counts[here], spares[here], have_spare[here] = position, count, spare, has_spare
            # Each unit takes one new pair. With a spare deviate, the spare is its gap, and the second of the pair is the
            # next spare.
            last = table.after_units(position, np.maximum(count - 1, 0))
            spare = np.where(count > 0, table.second[last], spare)
            position = np.where(count > 0, table.jumps[0][last], position)
    if (position >= table.end).any():
        return None
    order = (2, 0, 1)  # output by output
    return _Runs(
        positions.transpose(order).ravel(),
        counts.transpose(order).ravel(),
        spares.transpose(order).ravel(),
        have_spare.transpose(order).ravel(),
    )


def _expand(fits: Fits, runs: _Runs, table: Stream, *, runs_per_output: int) -> tuple[Units, BoolArray]:
    """Return the units of every run, and a mask of the outputs with a duration that must be drawn again."""
    offsets = np.concatenate([[0], np.cumsum(runs.units)]).astype(np.int64)
    starts, ends = np.empty(offsets[-1]), np.empty(offsets[-1])
    labels = np.empty(offsets[-1], dtype=np.int64)
    # With the longest runs first, the runs that still have units are always the first ones.
    longest_first = np.argsort(-runs.units, kind="stable")
    position, spare = runs.position[longest_first], runs.spare[longest_first]
    has_spare, first_unit = runs.has_spare[longest_first], offsets[:-1][longest_first]
    output, units = longest_first // runs_per_output, runs.units[longest_first]
    previous = np.zeros(len(units))
    redraw = np.zeros(len(fits), dtype=bool)
    for number in range(int(units.max(initial=0))):
        active = int(np.searchsorted(-units, -number, side="left"))
        at, of, kept = position[:active], output[:active], has_spare[:active]
        first, second, behind = table.first[at], table.second[at], table.after_pair[at]
        gap = fits.gap[0][of] + fits.gap[1][of] * np.where(kept, spare[:active], first)
        duration = np.abs(fits.duration[0][of] + fits.duration[1][of] * np.where(kept, first, second))
        redraw[of[duration < SHORTEST]] = True
        begin = previous[:active] + gap
        here = first_unit[:active] + number
        starts[here] = begin
        ends[here] = begin + duration
        # Like `searchsorted` in `draw_one_by_one`, for many rows at once.
        labels[here] = (fits.cumulative[of] <= table.uniform[behind][:, None]).sum(axis=1)
        previous, spare, position = begin + duration, second, table.jumps[0][at]
    return Units(offsets, starts, ends, fits.labels[labels]), redraw


def _replace(units: Units, fits: Fits, outputs: IntArray, *, n_annotators: int, n_samples: int, seed: int) -> Units:
    """Replace the samples of some outputs by samples that are drawn one by one."""
    per_output = n_annotators * n_samples
    pieces: list[Units] = []
    begin = 0
    for output in outputs.tolist():
        pieces.append(units.select(np.arange(begin, output * per_output)))
        rows = draw_one_by_one(fits, output, n_annotators=n_annotators, n_samples=n_samples, seed=seed)
        flat = np.array([unit for row in rows for unit in row])
        counts = np.array([len(row) for row in rows])
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        pieces.append(Units(offsets, flat[:, 0], flat[:, 1], flat[:, 2].astype(np.int64)))
        begin = (output + 1) * per_output
    pieces.append(units.select(np.arange(begin, len(fits) * per_output)))
    counts = np.concatenate([piece.counts for piece in pieces])
    columns = [np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("start", "end", "category")]
    return Units(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), columns[0], columns[1], columns[2])
