"""Which of the evaluated systems makes which errors, by one or more campaigns, and whether they rank the systems alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics.spans import IntArray
from spanplat.metrics.systems import ErrorWeights, SystemErrors, system_ranking_agreement, system_report
from spanplat.models import Campaign, Item, ItemOutput, Output
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.results import WHOLE, Request, ResultKind, Tell, WholeComputation, compute, sign
from spanplat.services.sides import Filters, Rule, Side, align, categories_of, count_spans, load_side

SECONDS_PER_SPAN = 6e-5


@dataclass(frozen=True)
class SystemsOptions:
    """How a report on systems is computed; every option is part of the result's signature."""

    seed: int = 42
    resamples: int = 1000
    """Of the bootstrap and the permutation tests."""
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True)
class _Loaded:
    """One campaign's first annotation of each output."""

    campaign: Campaign
    side: Side
    rows: IntArray
    weights: ErrorWeights
    severities: tuple[str, ...]
    examples: dict[int, int]
    """Example of each output."""


def compute_systems(
    database: Database, campaigns: Sequence[str], options: SystemsOptions | None = None
) -> dict[str, Any]:
    """Return the report on systems, computing it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        Where the campaigns are.
    campaigns
        One slug or more; of each output the first annotator counts. The others are compared with the first.
    options
        Filters, seed and resamples.

    Returns
    -------
    dict
        ``campaigns``: each with its ``systems`` (rank, errors per output, share without an error and derived score with intervals,
        errors per output by category and severity); ``agreement``: how each further campaign ranks the systems of the outputs it
        shares with the first (Pearson, Spearman, Kendall τ-b over the systems' mean scores).

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If no campaign is named, or one has no completed annotation.
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


def _describe(loaded: _Loaded, categories: tuple[str, ...], options: SystemsOptions) -> dict[str, Any]:
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
    return {
        "campaign": loaded.campaign.slug,
        "title": loaded.campaign.title,
        "outputs": len(works),
        "weighted": bool(loaded.weights.severities),
        "categories": list(categories),
        "severities": list(loaded.severities),
        "systems": [
            {"system": system, "rank": rank, **_errors(errors, categories, severities)}
            for system, rank, errors in zip(report.systems, report.ranks, report.errors, strict=True)
        ],
    }


def _errors(errors: SystemErrors, categories: tuple[str, ...], severities: dict[int, str]) -> dict[str, Any]:
    return {
        "outputs": errors.outputs,
        "spans": errors.spans,
        "per_output": _figure(errors.per_output, errors.per_output_interval),
        "error_free": _figure(errors.error_free, errors.error_free_interval),
        "score": _figure(errors.score, errors.score_interval),
        "by_category": {name: errors.by_category.get(code, 0.0) for code, name in enumerate(categories)},
        "by_severity": {name: errors.by_severity.get(code, 0.0) for code, name in severities.items()},
    }


def _figure(value: float, interval: tuple[float, float]) -> dict[str, float]:
    return {"value": value, "low": interval[0], "high": interval[1]}


def _agreement(reference: _Loaded, other: _Loaded) -> dict[str, Any]:
    """Compare the rankings over the outputs that both campaigns completed."""
    alignment = align(reference.side, Rule("first"), other.side, Rule("first"))
    result: dict[str, Any] = {"campaign": other.campaign.slug, "title": other.campaign.title, "outputs": len(alignment)}
    if len(alignment) == 0:
        reason = "the campaigns share no completed output"
        names = ("pearson", "spearman", "kendall", "ties")
        return result | {"systems": 0, "figures": dict.fromkeys(names), "undefined": dict.fromkeys(names, reason)}
    systems = [reference.side.works[row].system for row in alignment.reference.tolist()]
    compared = system_ranking_agreement(
        reference.side.spans.select(alignment.reference),
        other.side.spans.select(alignment.hypothesis),
        np.unique(systems, return_inverse=True)[1].astype(np.int64),
        weights=reference.weights,
    )
    return result | {
        "systems": len(set(systems)),
        "figures": dict(compared.figures),
        "undefined": dict(compared.undefined),
    }


def _request(session: Session, campaigns: Sequence[str], options: SystemsOptions) -> Request[SystemsOptions]:
    found = _find(session, campaigns)
    shown = [f"campaigns:{len(found)}", f"seed:{options.seed}", f"resamples:{options.resamples}"]
    return sign(session, "systems", found, options, shown=shown)


def _estimate(session: Session, request: Request[SystemsOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: Request[SystemsOptions]) -> WholeComputation:
    categories, options = categories_of(session, request.campaigns), request.options
    loaded = [_load_campaign(session, one, list(categories), options.filters) for one in request.campaigns]

    def run(tell: Tell) -> dict[str, Any]:
        described = []
        for place, one in enumerate(loaded):
            tell(place, len(loaded))
            described.append(_describe(one, tuple(categories.values()), options))
        return {"campaigns": described, "agreement": [_agreement(loaded[0], other) for other in loaded[1:]]}

    return WholeComputation(run)


SYSTEMS = ResultKind("systems", WHOLE, SystemsOptions, _request, _estimate, _load)
"""The evaluated systems by the errors that campaigns found in them."""
