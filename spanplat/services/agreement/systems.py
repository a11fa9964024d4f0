"""Report on the evaluated systems: their errors by campaign, and the agreement of the campaigns' rankings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics.spans import IntArray, SpanSet
from spanplat.metrics.systems import ErrorWeights, SystemErrors, system_ranking_agreement, system_report
from spanplat.models import Campaign, Item, ItemOutput, Output
from spanplat.services.agreement.sides import Filters, Rule, Side, align, categories_of, count_spans, load_side
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
from spanplat.services.campaigns import definition_of, find_campaign

SECONDS_PER_SPAN = 6e-5
"""Rough time on one core."""


@dataclass(frozen=True)
class SystemsOptions:
    """Options of a report on systems. Every option is part of the result's signature."""

    seed: int = 42
    resamples: int = 1000
    """Number of resamples of the bootstrap and the permutation tests."""
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True)
class IntervalFigure:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SystemFigures:
    """Figures of one evaluated system in one campaign."""

    system: str
    rank: int
    outputs: int
    spans: int
    per_output: IntervalFigure
    """Mean number of errors per output."""
    error_free: IntervalFigure
    """Share of outputs without errors."""
    score: IntervalFigure
    """Negative mean weight of the errors per output. Higher is better."""
    by_category: Mapping[str, float]
    """Errors per output."""
    by_severity: Mapping[str, float]


@dataclass(frozen=True)
class SystemsByCampaign:
    """Systems that one campaign annotated."""

    campaign: str
    title: str
    outputs: int
    weighted: bool
    """Whether severities have weights."""
    categories: Sequence[str]
    severities: Sequence[str]
    systems: Sequence[SystemFigures]


@dataclass(frozen=True)
class RankingAgreement:
    """Agreement of a campaign's ranking of the systems with the first campaign's, over the outputs that both completed."""

    campaign: str
    title: str
    outputs: int
    systems: int
    figures: Mapping[str, float | None]
    """Pearson, Spearman and Kendall τ-b over the systems' mean scores, and the share of tied pairs."""
    undefined: Mapping[str, str]
    """Reasons for undefined figures, by figure."""


@dataclass(frozen=True, kw_only=True)
class SystemsReport(Report):
    """Report on the evaluated systems, by the errors that campaigns found in them."""

    campaigns: Sequence[SystemsByCampaign]
    agreement: Sequence[RankingAgreement]
    """Agreement of each further campaign with the first."""


@dataclass(frozen=True)
class _Loaded:
    """First annotation of each output in one campaign."""

    campaign: Campaign
    side: Side
    rows: IntArray
    weights: ErrorWeights
    severities: tuple[str, ...]
    examples: dict[int, int]
    """Example of each output."""


def compute_systems(
    database: Database, campaigns: Sequence[str], options: SystemsOptions | None = None
) -> SystemsReport:
    """Return the report on systems. Compute it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        The database with the campaigns.
    campaigns
        One or more slugs. The first annotator of each output counts. The other campaigns are compared with the first.
    options
        Filters, seed and resamples.

    Returns
    -------
    SystemsReport

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If no campaign is named, or if a campaign has no completed annotation.
    """
    return compute(database, SYSTEMS, campaigns, options or SystemsOptions())


def _find(session: Session, campaigns: Sequence[str]) -> list[Campaign]:
    if not campaigns:
        raise InvalidInput("choose at least one campaign")
    return [find_campaign(session, slug) for slug in dict.fromkeys(campaigns)]


def _load_campaign(session: Session, campaign: Campaign, categories: Sequence[str], filters: Filters) -> _Loaded:
    side = load_side(session, campaign, categories, filters)
    if not side.works:
        raise InvalidInput(
            f"campaign {campaign.slug!r} has no completed annotation of the chosen outputs; finish it, or widen the filters"
        )
    rows = np.array([candidates[0] for candidates in side.by_output().values()], dtype=np.int64)
    scale = definition_of(campaign).severities
    # Code 0 means no severity, as in `load_side`. A level without a weight keeps the default weight.
    weights = {code: level.weight for code, level in enumerate(scale, start=1) if level.weight is not None}
    found = session.execute(
        select(Output.id, Output.example_id)
        .join(ItemOutput, ItemOutput.output_id == Output.id)
        .join(Item, Item.id == ItemOutput.item_id)
        .where(Item.campaign_id == campaign.id)
    )
    examples = {output: example for output, example in found}
    return _Loaded(
        campaign, side, rows, ErrorWeights(severities=weights), tuple(level.name for level in scale), examples
    )


def _describe(loaded: _Loaded, categories: tuple[str, ...], options: SystemsOptions) -> SystemsByCampaign:
    works = [loaded.side.works[row] for row in loaded.rows.tolist()]
    names, codes = np.unique([work.system for work in works], return_inverse=True)
    examples = np.array([loaded.examples[work.output_id] for work in works], dtype=np.int64)
    report = system_report(
        loaded.side.spans.select(loaded.rows),
        codes.astype(np.int64),
        examples,
        names.tolist(),
        weights=loaded.weights,
        n_resamples=options.resamples,
        seed=options.seed,
    )
    severities = dict(enumerate(loaded.severities, start=1))
    return SystemsByCampaign(
        campaign=loaded.campaign.slug,
        title=loaded.campaign.title,
        outputs=len(works),
        weighted=bool(loaded.weights.severities),
        categories=list(categories),
        severities=list(loaded.severities),
        systems=[
            _figures(system, rank, errors, categories, severities)
            for system, rank, errors in zip(report.systems, report.ranks, report.errors, strict=True)
        ],
    )


def _figures(
    system: str, rank: int, errors: SystemErrors, categories: tuple[str, ...], severities: dict[int, str]
) -> SystemFigures:
    return SystemFigures(
        system=system,
        rank=rank,
        outputs=errors.outputs,
        spans=errors.spans,
        per_output=IntervalFigure(errors.per_output, *errors.per_output_interval),
        error_free=IntervalFigure(errors.error_free, *errors.error_free_interval),
        score=IntervalFigure(errors.score, *errors.score_interval),
        by_category={name: errors.by_category.get(code, 0.0) for code, name in enumerate(categories)},
        by_severity={name: errors.by_severity.get(code, 0.0) for code, name in severities.items()},
    )


def _agreement(reference: _Loaded, other: _Loaded) -> RankingAgreement:
    """Compare the rankings over the outputs that both campaigns completed."""
    # Both sides get the first campaign's weights, so that one scale gives both rankings.
    alignment = align(reference.side, Rule("first"), other.side, Rule("first"))
    slug, title = other.campaign.slug, other.campaign.title
    if len(alignment) == 0:
        names, reason = ("pearson", "spearman", "kendall", "ties"), "the campaigns share no completed output"
        return RankingAgreement(slug, title, 0, 0, dict.fromkeys(names), dict.fromkeys(names, reason))
    systems = [reference.side.works[row].system for row in alignment.reference.tolist()]
    compared = system_ranking_agreement(
        reference.side.spans.select(alignment.reference),
        _on_scale(other.side.spans.select(alignment.hypothesis), other.severities, reference.severities),
        np.unique(systems, return_inverse=True)[1].astype(np.int64),
        weights=reference.weights,
    )
    return RankingAgreement(slug, title, len(alignment), len(set(systems)), compared.figures, compared.undefined)


def _on_scale(spans: SpanSet, own: Sequence[str], scale: Sequence[str]) -> SpanSet:
    """Return the spans with the codes that another scale gives to their severities; 0 if it has no such level."""
    # Each campaign numbers the levels of its own scale: code 1 may be minor in one and major in the other.
    codes = {name: code for code, name in enumerate(scale, start=1)}
    translated = np.array([0, *(codes.get(name, 0) for name in own)], dtype=np.int64)
    return replace(spans, severity=translated[spans.severity])


def _request(session: Session, campaigns: Sequence[str], options: SystemsOptions) -> SignedRequest[SystemsOptions]:
    found = _find(session, campaigns)
    shown = [f"campaigns:{len(found)}", f"seed:{options.seed}", f"resamples:{options.resamples}"]
    return sign(session, "systems", found, options, shown=shown)


def _estimate(session: Session, request: SignedRequest[SystemsOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: SignedRequest[SystemsOptions]) -> WholeComputation:
    categories, options = categories_of(session, request.campaigns), request.options
    # Loaded here, because `compute` closes the session before it runs the computation.
    loaded = [_load_campaign(session, one, list(categories), options.filters) for one in request.campaigns]

    def run(on_progress: OnProgress) -> SystemsReport:
        described = []
        for place, one in enumerate(loaded):
            on_progress(place, len(loaded))
            described.append(_describe(one, tuple(categories.values()), options))
        return SystemsReport(campaigns=described, agreement=[_agreement(loaded[0], other) for other in loaded[1:]])

    return WholeComputation(run)


SYSTEMS = ResultKind("systems", WHOLE, SystemsOptions, SystemsReport, _request, _estimate, _load)
"""Report on the evaluated systems, by the errors that campaigns found in them."""
