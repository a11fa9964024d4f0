"""Sentinels: a check whether the measures notice a hypothesis that was made worse on purpose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial as bound

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.metrics import Comparison, Result, SpanSet, char, partial, partial_credit
from spanplat.metrics.sentinels import imprecise, low_recall, remove_one
from spanplat.metrics.spans import IntArray
from spanplat.models import Output
from spanplat.services.agreement.comparison import AgreementOptions
from spanplat.services.agreement.disagreement import Disagreements, find_disagreements
from spanplat.services.agreement.sides import Work, count_spans, third_revision
from spanplat.services.background import (
    WHOLE,
    OnProgress,
    Report,
    ResultKind,
    SignedRequest,
    WholeComputation,
    compute,
    sign,
)
from spanplat.services.campaigns import find_campaign

SECONDS_PER_SPAN = 2e-4
"""Rough time on one core."""

# Each series begins with the unchanged hypothesis.
WIDENINGS = (0, 5, 10, 20, 40)
"""Numbers of characters added on each side of every span."""
DROPS = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Probabilities of dropping a span."""
TEXTS_AT_ONCE = 500
"""Largest number of ids in one query. Databases limit the number of parameters."""

SERIES: Mapping[str, Callable[[Comparison], Result]] = {
    "partial_credit, micro": bound(partial_credit, soft=True),
    "partial_credit, macro": bound(partial_credit, soft=True, average="macro"),
    "partial, micro": bound(partial, soft=True),
    "char, micro": bound(char, soft=True),
}


@dataclass(frozen=True)
class Point:
    """Score of one worsened hypothesis by one measure."""

    x: int | float
    """Characters added on each side, or the probability of dropping a span."""
    y: float | None
    """F1."""
    series: str
    """Name of the measure."""


@dataclass(frozen=True)
class Emptied:
    """F1 by one measure, before and after every output with at most one span was emptied."""

    series: str
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True)
class Sentinels(Report):
    """Report on the scores of a hypothesis that is made less precise or less complete."""

    outputs: int
    wider: Sequence[Point]
    fewer: Sequence[Point]
    removed: Sequence[Emptied]


def compute_sentinels(
    database: Database, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> Sentinels:
    """Return the scores of a hypothesis that is made less precise or less complete. Compute them unless they are stored.

    Parameters
    ----------
    database
        The database with the campaigns.
    reference, hypothesis
        Slugs.
    options
        Rules, filters and the seed for dropping spans.

    Returns
    -------
    Sentinels

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the campaigns share no output.
    """
    return compute(database, SENTINELS, (reference, hypothesis), options or AgreementOptions())


def _text_lengths(session: Session, works: tuple[Work, ...]) -> IntArray:
    """Return the length of each row's text in code points."""
    # The database counts the characters, so that the texts need not be loaded. Both databases count code points.
    ids = sorted({work.output_id for work in works})
    lengths: dict[int, int] = {}
    for begin in range(0, len(ids), TEXTS_AT_ONCE):
        chosen = Output.id.in_(ids[begin : begin + TEXTS_AT_ONCE])
        rows = session.execute(select(Output.id, func.length(Output.text)).where(chosen))
        lengths |= {output: length for output, length in rows}
    return np.array([lengths[work.output_id] for work in works], dtype=np.int64)


def _points(pair: Comparison, x: float, hypothesis: SpanSet) -> list[Point]:
    return [Point(x, f1, name) for name, f1 in _scores(pair, hypothesis).items()]


def _scores(pair: Comparison, hypothesis: SpanSet) -> dict[str, float | None]:
    worse = Comparison(pair.reference, hypothesis, pair.categories)
    return {name: measure(worse).f1 for name, measure in SERIES.items()}


def _request(session: Session, campaigns: Sequence[str], options: AgreementOptions) -> SignedRequest[AgreementOptions]:
    found = [find_campaign(session, slug) for slug in campaigns]
    rules = f"rules:{options.reference_rule},{options.hypothesis_rule}"
    return sign(
        session,
        "sentinels",
        found,
        options,
        shown=[rules, f"seed:{options.seed}"],
        extra=third_revision(session, options.filters),
    )


def _estimate(session: Session, request: SignedRequest[AgreementOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: SignedRequest[AgreementOptions]) -> WholeComputation:
    found = find_disagreements(session, request.reference.slug, request.hypothesis.slug, request.options)
    lengths = _text_lengths(session, found.reference)
    return WholeComputation(lambda on_progress: _compute(found, lengths, request.options.seed, on_progress))


def _compute(found: Disagreements, lengths: IntArray, seed: int, on_progress: OnProgress) -> Sentinels:
    spans = found.pair.hypothesis
    worse: list[tuple[str, float, SpanSet]] = [
        ("wider", n, imprecise(spans, n, text_lengths=lengths)) for n in WIDENINGS
    ]
    worse += [("fewer", p, low_recall(spans, p, seed=seed)) for p in DROPS]
    points: dict[str, list[Point]] = {"wider": [], "fewer": []}
    for place, (plot, x, made) in enumerate(worse):
        points[plot] += _points(found.pair, x, made)
        on_progress(place + 1, len(worse) + 2)
    removed, unchanged = _scores(found.pair, remove_one(spans)), _scores(found.pair, spans)
    return Sentinels(
        outputs=found.n_outputs,
        wider=points["wider"],
        fewer=points["fewer"],
        removed=[Emptied(name, unchanged[name], removed[name]) for name in SERIES],
    )


SENTINELS = ResultKind("sentinels", WHOLE, AgreementOptions, Sentinels, _request, _estimate, _load)
"""Scores of a hypothesis that is made worse on purpose."""
