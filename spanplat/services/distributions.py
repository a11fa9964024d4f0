"""How agreement is spread over outputs: numbers of spans side by side, how many outputs agree how well, and what the sides took."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import Campaign, Completion
from spanplat.services.agreement import AgreementOptions, third_revision
from spanplat.services.campaigns import find_campaign
from spanplat.services.disagreement import Disagreements, find_disagreements
from spanplat.services.results import WHOLE, Request, ResultKind, WholeComputation, compute, sign
from spanplat.services.sides import count_spans
from spanplat.services.stats import campaign_statistics

SECONDS_PER_SPAN = 3e-5

N_BINS = 10


@dataclass(frozen=True)
class CountPair:
    """How many outputs have so many spans on each side."""

    reference: int
    hypothesis: int
    outputs: int


@dataclass(frozen=True)
class Bin:
    """How many outputs have a character F1 from ``low`` (inclusive) to ``high`` (exclusive, but inclusive at 1)."""

    low: float
    high: float
    both: int
    """Outputs on which both sides marked something."""
    one: int
    """Outputs on which one side marked nothing: their F1 is 0."""
    neither: int
    """Outputs on which neither side marked anything: their F1 is 1."""

    @property
    def outputs(self) -> int:
        """All outputs of the bin."""
        return self.both + self.one + self.neither


def count_pairs(found: Disagreements) -> list[CountPair]:
    """Count the outputs by their numbers of spans on both sides, the most frequent pair of numbers first."""
    counts = np.stack([found.pair.reference.counts, found.pair.hypothesis.counts], axis=1)
    pairs, outputs = np.unique(counts, axis=0, return_counts=True)
    order = np.argsort(-outputs, kind="stable")
    return [CountPair(int(pairs[place, 0]), int(pairs[place, 1]), int(outputs[place])) for place in order]


def f1_bins(found: Disagreements) -> list[Bin]:
    """Count the outputs by their character F1 (same category) in ten bins, apart by how many sides marked something."""
    edges = np.linspace(0, 1, N_BINS + 1).round(10)
    place = np.clip(np.searchsorted(edges, found.f1, side="right") - 1, 0, N_BINS - 1)
    sides = (found.pair.reference.counts > 0).astype(np.int64) + (found.pair.hypothesis.counts > 0)
    table = np.zeros((N_BINS, 3), dtype=np.int64)
    np.add.at(table, (place, sides), 1)
    return [
        Bin(float(edges[row]), float(edges[row + 1]), both=int(both), one=int(one), neither=int(neither))
        for row, (neither, one, both) in enumerate(table.tolist())
    ]


def compute_distribution(
    database: Database, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> dict[str, Any]:
    """Return how agreement is spread over the outputs, computing it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        Where the campaigns are.
    reference, hypothesis
        Slugs.
    options
        Rules and filters.

    Returns
    -------
    dict
        ``rows`` (comparisons), ``pairs`` (each with ``reference`` and ``hypothesis`` spans and the number of ``outputs``), ``bins``
        (each with ``low``, ``high``, ``both``, ``one``, ``neither``) and ``sides``: the statistics of each campaign by slug.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the campaigns share no output.
    """
    return compute(database, DISTRIBUTION, (reference, hypothesis), options or AgreementOptions())


def _request(session: Session, campaigns: Sequence[str], options: AgreementOptions) -> Request[AgreementOptions]:
    found = [find_campaign(session, slug) for slug in campaigns]
    rules = f"rules:{options.reference_rule},{options.hypothesis_rule}"
    return sign(
        session,
        "distribution",
        found,
        options,
        shown=[rules],
        extra=f"{_calls(session, found)}|{third_revision(session, options)}",
    )


def _calls(session: Session, campaigns: Sequence[Campaign]) -> str:
    """Return a mark that changes with every call of a model: the statistics tell what they cost."""
    chosen = Completion.campaign_id.in_([campaign.id for campaign in campaigns])
    calls = select(func.count(Completion.id), func.max(Completion.id)).where(chosen)
    return ".".join(str(number or 0) for number in session.execute(calls).one())


def _estimate(session: Session, request: Request[AgreementOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: Request[AgreementOptions]) -> WholeComputation:
    found = find_disagreements(session, request.reference.slug, request.hypothesis.slug, request.options)
    rules = (request.options.reference_rule, request.options.hypothesis_rule)
    sides = {
        campaign.slug: campaign_statistics(
            session, campaign.slug, rule=_counting(rule), filters=request.options.filters
        )
        for campaign, rule in zip(request.campaigns, rules, strict=True)
    }
    value = {
        "rows": len(found.f1),
        "pairs": [asdict(pair) for pair in count_pairs(found)],
        "bins": [asdict(one) for one in f1_bins(found)],
        "sides": sides,
    }
    return WholeComputation(lambda _tell: value)


def _counting(rule: str) -> str:
    """Return the rule for counting: one that compares annotators counts each."""
    return "each" if rule in ("pairs", "all") else rule


DISTRIBUTION = ResultKind("distribution", WHOLE, AgreementOptions, _request, _estimate, _load)
"""How agreement is spread over the outputs, with the statistics of both sides."""
