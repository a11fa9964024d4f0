"""Is the measure itself fair: what it says of a hypothesis that was made worse on purpose, on this very data."""

from collections.abc import Mapping
from functools import partial as bound
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat import __version__
from spanplat.db import Database
from spanplat.metrics import Comparison, SpanSet, char, partial, partial_credit
from spanplat.metrics.sentinels import imprecise, low_recall, remove_one
from spanplat.metrics.spans import IntArray
from spanplat.models import Output
from spanplat.services.agreement import AgreementOptions
from spanplat.services.disagreement import find_disagreements
from spanplat.services.leaderboard import keep_result, stored_result
from spanplat.services.sides import Work

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
    options = options or AgreementOptions()
    with database.reading() as session:
        found = find_disagreements(session, reference, hypothesis, options)
        signature = f"sentinels|{found.signature}|seed:{options.seed}"
        stored = stored_result(session, signature)
        if stored is not None:
            return stored
        lengths = _text_lengths(session, found.reference)
    spans = found.pair.hypothesis
    wider = {n: imprecise(spans, n, text_lengths=lengths) for n in WIDENINGS}
    fewer = {p: low_recall(spans, p, seed=options.seed) for p in DROPS}
    removed = _scores(found.pair, remove_one(spans))
    unchanged = _scores(found.pair, spans)
    result = {
        "outputs": found.n_outputs,
        "wider": [point for n, worse in wider.items() for point in _points(found.pair, n, worse)],
        "fewer": [point for p, worse in fewer.items() for point in _points(found.pair, p, worse)],
        "removed": [{"series": name, "before": unchanged[name], "after": removed[name]} for name in MEASURES],
        "signature": signature,
        "version": __version__,
    }
    keep_result(database, result)
    return result


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
