"""Is the measure itself fair: what it says of a hypothesis that was made worse on purpose, on this very data."""

from collections.abc import Mapping, Sequence
from functools import partial as bound
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.metrics import Comparison, SpanSet, char, partial, partial_credit
from spanplat.metrics.sentinels import imprecise, low_recall, remove_one
from spanplat.metrics.spans import IntArray
from spanplat.models import Output
from spanplat.services.agreement import AgreementOptions, third_revision
from spanplat.services.campaigns import find_campaign
from spanplat.services.disagreement import Disagreements, find_disagreements
from spanplat.services.results import WHOLE, Request, ResultKind, Tell, WholeComputation, compute, sign
from spanplat.services.sides import Work, count_spans

SECONDS_PER_SPAN = 2e-4

WIDENINGS = (0, 5, 10, 20, 40)
"""Characters added on either side of every span."""
DROPS = (0.0, 0.2, 0.4, 0.6, 0.8)
"""Probabilities to leave a span out."""
TEXTS_AT_ONCE = 500

MEASURES: Mapping[str, Any] = {
    "partial_credit, micro": bound(partial_credit, soft=True),
    "partial_credit, macro": bound(partial_credit, soft=True, average="macro"),
    "partial, micro": bound(partial, soft=True),
    "char, micro": bound(char, soft=True),
}


def compute_sentinels(
    database: Database, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> dict[str, Any]:
    """Return what measures say of a hypothesis that is made less precise or less complete, computing it unless it is stored.

    Parameters
    ----------
    database
        Where the campaigns are.
    reference, hypothesis
        Slugs.
    options
        Rules, filters and the seed of what is dropped.

    Returns
    -------
    dict
        ``wider``, ``fewer`` (each a list of ``x``, ``y`` = F1, ``series`` = measure) and ``removed`` (per measure the F1 as it is and
        after every output with at most one span was emptied).

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
    ids = sorted({work.output_id for work in works})
    lengths: dict[int, int] = {}
    for begin in range(0, len(ids), TEXTS_AT_ONCE):
        chosen = Output.id.in_(ids[begin : begin + TEXTS_AT_ONCE])
        rows = session.execute(select(Output.id, func.length(Output.text)).where(chosen))
        lengths |= {output: length for output, length in rows}
    return np.array([lengths[work.output_id] for work in works], dtype=np.int64)


def _points(pair: Comparison, x: float, hypothesis: SpanSet) -> list[dict[str, Any]]:
    return [{"x": x, "y": f1, "series": name} for name, f1 in _scores(pair, hypothesis).items()]


def _scores(pair: Comparison, hypothesis: SpanSet) -> dict[str, float | None]:
    worse = Comparison(pair.reference, hypothesis, pair.categories)
    return {name: measure(worse).f1 for name, measure in MEASURES.items()}


def _request(session: Session, campaigns: Sequence[str], options: AgreementOptions) -> Request[AgreementOptions]:
    found = [find_campaign(session, slug) for slug in campaigns]
    rules = f"rules:{options.reference_rule},{options.hypothesis_rule}"
    return sign(
        session,
        "sentinels",
        found,
        options,
        shown=[rules, f"seed:{options.seed}"],
        extra=third_revision(session, options),
    )


def _estimate(session: Session, request: Request[AgreementOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: Request[AgreementOptions]) -> WholeComputation:
    found = find_disagreements(session, request.reference.slug, request.hypothesis.slug, request.options)
    lengths = _text_lengths(session, found.reference)
    return WholeComputation(lambda tell: _compute(found, lengths, request.options.seed, tell))


def _compute(found: Disagreements, lengths: IntArray, seed: int, tell: Tell) -> dict[str, Any]:
    spans = found.pair.hypothesis
    worse: list[tuple[str, float, SpanSet]] = [
        ("wider", n, imprecise(spans, n, text_lengths=lengths)) for n in WIDENINGS
    ]
    worse += [("fewer", p, low_recall(spans, p, seed=seed)) for p in DROPS]
    points: dict[str, list[dict[str, Any]]] = {"wider": [], "fewer": []}
    for place, (plot, x, made) in enumerate(worse):
        points[plot] += _points(found.pair, x, made)
        tell(place + 1, len(worse) + 2)
    removed, unchanged = _scores(found.pair, remove_one(spans)), _scores(found.pair, spans)
    return {
        "outputs": found.n_outputs,
        **points,
        "removed": [{"series": name, "before": unchanged[name], "after": removed[name]} for name in MEASURES],
    }


SENTINELS = ResultKind("sentinels", WHOLE, AgreementOptions, _request, _estimate, _load)
"""What measures say of a hypothesis that is made worse on purpose."""
