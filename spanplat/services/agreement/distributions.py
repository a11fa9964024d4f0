"""Distribution of agreement over outputs: numbers of spans per side, a histogram of F1, and statistics of the sides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import Campaign, Completion
from spanplat.services.agreement.comparison import AgreementOptions
from spanplat.services.agreement.disagreement import Disagreements, find_disagreements
from spanplat.services.agreement.sides import count_spans, third_revision
from spanplat.services.agreement.statistics import CampaignStatistics, campaign_statistics
from spanplat.services.background import WHOLE, Report, ResultKind, SignedRequest, WholeComputation, compute, sign
from spanplat.services.campaigns import find_campaign

SECONDS_PER_SPAN = 3e-5
"""Rough time on one core."""

N_BINS = 10
"""Number of bins of the histogram of F1."""


@dataclass(frozen=True)
class CountPair:
    """Number of outputs with these numbers of spans on the two sides."""

    reference: int
    hypothesis: int
    outputs: int


@dataclass(frozen=True)
class Bin:
    """Number of outputs with a character F1 from ``low`` (inclusive) to ``high`` (exclusive, but inclusive at 1)."""

    low: float
    high: float
    both: int
    """Outputs with spans on both sides."""
    one: int
    """Outputs with spans on one side only. Their F1 is 0."""
    neither: int
    """Outputs without spans on either side. Their F1 is 1."""

    @property
    def outputs(self) -> int:
        """Number of all outputs in the bin."""
        return self.both + self.one + self.neither


@dataclass(frozen=True, kw_only=True)
class Distribution(Report):
    """Distribution of agreement over outputs."""

    rows: int
    """Number of comparisons."""
    pairs: Sequence[CountPair]
    bins: Sequence[Bin]
    sides: Mapping[str, CampaignStatistics]
    """Statistics of each campaign, by slug."""


def count_pairs(found: Disagreements) -> list[CountPair]:
    """Count the outputs by their numbers of spans on both sides. The most frequent pair of numbers comes first."""
    counts = np.stack([found.pair.reference.counts, found.pair.hypothesis.counts], axis=1)
    pairs, outputs = np.unique(counts, axis=0, return_counts=True)
    order = np.argsort(-outputs, kind="stable")
    return [CountPair(int(pairs[place, 0]), int(pairs[place, 1]), int(outputs[place])) for place in order]


def f1_bins(found: Disagreements) -> list[Bin]:
    """Count the outputs by character F1 (same category) in ten bins, and by how many sides have spans."""
    # `linspace` gives 0.30000000000000004. Without rounding an F1 of 0.3 would fall into the bin below.
    edges = np.linspace(0, 1, N_BINS + 1).round(10)
    # The last bin includes its upper bound, so that an F1 of 1 has a bin.
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
) -> Distribution:
    """Return the distribution of agreement. Compute it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        The database with the campaigns.
    reference, hypothesis
        Slugs.
    options
        Rules and filters.

    Returns
    -------
    Distribution

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If the campaigns share no output.
    """
    return compute(database, DISTRIBUTION, (reference, hypothesis), options or AgreementOptions())


def _request(session: Session, campaigns: Sequence[str], options: AgreementOptions) -> SignedRequest[AgreementOptions]:
    found = [find_campaign(session, slug) for slug in campaigns]
    rules = f"rules:{options.reference_rule},{options.hypothesis_rule}"
    return sign(
        session,
        "distribution",
        found,
        options,
        shown=[rules],
        extra=f"{_calls(session, found)}|{third_revision(session, options.filters)}",
    )


def _calls(session: Session, campaigns: Sequence[Campaign]) -> str:
    """Return a mark that changes with every model call, because the statistics contain the cost of calls."""
    chosen = Completion.campaign_id.in_([campaign.id for campaign in campaigns])
    calls = select(func.count(Completion.id), func.max(Completion.id)).where(chosen)
    return ".".join(str(number or 0) for number in session.execute(calls).one())


def _estimate(session: Session, request: SignedRequest[AgreementOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: SignedRequest[AgreementOptions]) -> WholeComputation:
    found = find_disagreements(session, request.reference.slug, request.hypothesis.slug, request.options)
    rules = (request.options.reference_rule, request.options.hypothesis_rule)
    sides = {
        campaign.slug: campaign_statistics(
            session, campaign.slug, rule=_counting(rule), filters=request.options.filters
        )
        for campaign, rule in zip(request.campaigns, rules, strict=True)
    }
    report = Distribution(rows=len(found.f1), pairs=count_pairs(found), bins=f1_bins(found), sides=sides)
    # Computed already, because statistics need the session, and `compute` closes it after loading.
    return WholeComputation(lambda _tell: report)


def _counting(rule: str) -> str:
    """Return the rule for the statistics. Rules that compare annotators become ``each``."""
    return "each" if rule in ("pairs", "all") else rule


DISTRIBUTION = ResultKind("distribution", WHOLE, AgreementOptions, Distribution, _request, _estimate, _load)
"""Distribution of agreement over outputs, with statistics of both sides."""
