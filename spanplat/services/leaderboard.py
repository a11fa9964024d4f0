"""A leaderboard: any number of campaigns against one reference, on the same outputs, by every measure."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat import __version__
from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics import GammaOptions
from spanplat.metrics.resampling import bootstrap, permutation_test, rank_clusters
from spanplat.metrics.spans import FloatArray, IntArray
from spanplat.models import AgreementResult, Campaign
from spanplat.models.statements import insert_absent
from spanplat.services.campaigns import find_campaign
from spanplat.services.scoresheets import (
    STATISTICS,
    WHY_UNDEFINED,
    Scoresheet,
    align_within,
    make_scoresheet,
    outputs_of,
    restrict,
)
from spanplat.services.sides import (
    Alignment,
    Filters,
    Rule,
    Side,
    align,
    categories_of,
    data_revision,
    load_side,
)

SIGNIFICANCE = 0.05
"""Two campaigns are told apart when the paired permutation test gives less; p-values are not corrected for their number."""

OutputChoice = Literal["shared", "several", "own"]


@dataclass(frozen=True)
class LeaderboardOptions:
    """How a leaderboard or a matrix is computed; every option is part of the result's signature."""

    rule: str = "first"
    """How several annotators of the reference are reduced: ``first``, ``each`` or ``group=K``; the others give their first."""
    outputs: OutputChoice = "shared"
    """``shared``: what all completed; ``several``: of these, the ones that several annotators of the reference completed, so that
    their agreement stands on the same outputs; ``own``: for each campaign whatever it shares with the reference."""
    seed: int = 42
    samples: int = 30
    """Samples of γ."""
    resamples: int = 1000
    """Of the bootstrap and the permutation tests."""
    filters: Filters = field(default_factory=Filters)

    @property
    def gamma(self) -> GammaOptions:
        """Return the parameters of γ."""
        return GammaOptions(n_samples=self.samples, seed=self.seed)


@dataclass(frozen=True)
class Board:
    """The sides of a leaderboard or matrix with what identifies the result."""

    signature: str
    sides: tuple[Side, ...]
    titles: tuple[str, ...]
    categories: tuple[str, ...]
    other_categories: tuple[str, ...]
    """Campaigns whose categories are not those of the first."""
    version: str = __version__


def compute_leaderboard(
    database: Database, reference: str, campaigns: Sequence[str], options: LeaderboardOptions | None = None
) -> dict[str, Any]:
    """Return the leaderboard, computing it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        Where the campaigns are.
    reference
        Slug of the campaign the others are compared with.
    campaigns
        Slugs of the others.
    options
        How to compare.

    Returns
    -------
    dict
        ``entries`` (one per campaign, with ``figures`` by measure: value, interval, rank, cluster, number of outputs), ``human``
        (the same for the agreement of the reference's own annotators, or None), ``p_values`` by measure, ``outputs``.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If nothing can be compared, with what to do about it.
    """
    options = options or LeaderboardOptions()
    with database.reading() as session:
        stored = stored_leaderboard(session, reference, campaigns, options)
        if stored is not None:
            return stored
        board = load_board(session, "leaderboard", reference, campaigns, options)
    result = _compute(board, options)
    keep_result(database, result)
    return result


def stored_leaderboard(
    session: Session, reference: str, campaigns: Sequence[str], options: LeaderboardOptions
) -> dict[str, Any] | None:
    """Return the leaderboard if it is stored for the present data, else None; raises as `compute_leaderboard` does."""
    found = find_entrants(session, reference, campaigns, options)
    return stored_result(session, sign(session, "leaderboard", found, options))


def find_entrants(
    session: Session, reference: str, campaigns: Sequence[str], options: LeaderboardOptions
) -> list[Campaign]:
    """Return the reference and then the other campaigns, each once.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If no other campaign is named, or the rule does not choose one side.
    """
    others = [slug for slug in dict.fromkeys(campaigns) if slug != reference]
    if not others:
        raise InvalidInput("choose at least one campaign besides the reference")
    if Rule.parse(options.rule).name not in ("first", "each", "group"):
        raise InvalidInput(
            f"the reference of a leaderboard is one side: use the rule first, each or group=K, not {options.rule}"
        )
    return [find_campaign(session, slug) for slug in (reference, *others)]


def sign(session: Session, kind: str, campaigns: Sequence[Campaign], options: LeaderboardOptions) -> str:
    """Name a computation: kind, campaigns with the revision of their data, options and version."""
    revisions = [f"{campaign.slug}@{data_revision(session, campaign)}" for campaign in campaigns]
    named = {"campaigns": revisions, "options": asdict(options), "version": __version__}
    digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
    shown = asdict(options)
    del shown["filters"]
    return "|".join(
        [
            kind,
            f"ref:{revisions[0]}",
            f"campaigns:{len(campaigns) - 1}",
            *(f"{name}:{value}" for name, value in shown.items()),
            f"digest:{digest}",
            f"v:{__version__}",
        ]
    )


def load_board(
    session: Session, kind: str, reference: str, campaigns: Sequence[str], options: LeaderboardOptions
) -> Board:
    """Load the reference and the other campaigns; raises as `compute_leaderboard` does."""
    found = find_entrants(session, reference, campaigns, options)
    categories = categories_of(session, found)
    keys = list(categories)
    own = [set(categories_of(session, [campaign])) for campaign in found]
    return Board(
        sign(session, kind, found, options),
        tuple(load_side(session, campaign, keys, options.filters) for campaign in found),
        tuple(campaign.title for campaign in found),
        tuple(categories.values()),
        tuple(campaign.slug for campaign, mine in zip(found, own, strict=True) if mine != own[0]),
    )


def stored_result(session: Session, signature: str) -> dict[str, Any] | None:
    """Return what is stored under a signature."""
    value: dict[str, Any] | None = session.scalar(
        select(AgreementResult.value).where(AgreementResult.signature == signature)
    )
    return value


def keep_result(database: Database, result: dict[str, Any]) -> None:
    """Store a result under its signature."""
    with database.transaction() as session:
        insert_absent(session, AgreementResult, [{"signature": result["signature"], "value": result}])


def figure_of(sheet: Scoresheet, measure: str, options: LeaderboardOptions) -> dict[str, Any]:
    """Return one figure with its interval, the number of outputs it rests on, and the reason where it is undefined."""
    value = sheet.score(measure)
    if value is None:
        return {"value": None, "reason": WHY_UNDEFINED[measure], "low": None, "high": None, "outputs": 0}
    interval = bootstrap(
        sheet.columns[measure], STATISTICS[measure], n_resamples=options.resamples, seed=options.seed, n_jobs=1
    )
    bounds = float(interval.low[0]), float(interval.high[0])
    return {"value": value, "low": bounds[0], "high": bounds[1], "outputs": sheet.support(measure)}


def shared_outputs(board: Board, alignments: Sequence[Alignment]) -> IntArray:
    """Return the outputs that all alignments with the first side have.

    Raises
    ------
    InvalidInput
        If there are none.
    """
    reference = board.sides[0]
    each = [np.unique(outputs_of(reference, alignment.reference)) for alignment in alignments]
    for side, outputs in zip(board.sides[1:], each, strict=True):
        if len(outputs) == 0:
            raise InvalidInput(
                f"{side.campaign!r} shares no completed output with {reference.campaign!r} under this rule and these filters; "
                "leave it out, or choose campaigns over the same dataset, split and systems"
            )
    return reduce(np.intersect1d, each)


def _compute(board: Board, options: LeaderboardOptions) -> dict[str, Any]:
    reference, hypotheses = board.sides[0], board.sides[1:]
    rule = Rule.parse(options.rule)
    alignments = [align(reference, rule, side, Rule("first")) for side in hypotheses]
    shared = shared_outputs(board, alignments)
    within = align_within(reference, rule)
    if options.outputs == "several":
        shared = np.intersect1d(shared, outputs_of(reference, within.reference))
    if options.outputs != "own":
        if len(shared) == 0:
            raise InvalidInput(_nothing_shared(options.outputs, reference))
        alignments = [restrict(alignment, reference, shared) for alignment in alignments]
        within = restrict(within, reference, shared)
    sheets = [
        make_scoresheet(reference, side, alignment, board.categories, measures=list(STATISTICS), gamma=options.gamma)
        for side, alignment in zip(hypotheses, alignments, strict=True)
    ]
    p_values = {measure: _p_values(sheets, measure, options) for measure in STATISTICS}
    figures = [{measure: figure_of(sheet, measure, options) for measure in STATISTICS} for sheet in sheets]
    for measure in STATISTICS:
        _rank([own[measure] for own in figures], p_values[measure])
    return {
        "reference": {"campaign": reference.campaign, "title": board.titles[0], "rule": options.rule},
        "chosen": options.outputs,
        "outputs": None if options.outputs == "own" else len(shared),
        "shared": len(shared),
        "entries": [
            {
                "campaign": side.campaign,
                "title": title,
                "outputs": len(sheet.outputs),
                "left_out": len({work.output_id for work in side.works}) - len(sheet.outputs),
                "spans": sheet.spans,
                "figures": own,
            }
            for side, title, sheet, own in zip(hypotheses, board.titles[1:], sheets, figures, strict=True)
        ],
        "human": _human(reference, within, board, options) if len(within) else None,
        "p_values": {measure: _without_nan(values) for measure, values in p_values.items()},
        "other_categories": list(board.other_categories),
        "signature": board.signature,
        "version": board.version,
    }


def _human(reference: Side, within: Alignment, board: Board, options: LeaderboardOptions) -> dict[str, Any]:
    """Score the reference's annotators against each other: the line that a campaign as good as a person would reach."""
    sheet = make_scoresheet(
        reference, reference, within, board.categories, measures=list(STATISTICS), gamma=options.gamma
    )
    return {
        "outputs": len(sheet.outputs),
        "figures": {measure: figure_of(sheet, measure, options) for measure in STATISTICS},
    }


def _p_values(sheets: Sequence[Scoresheet], measure: str, options: LeaderboardOptions) -> FloatArray:
    """Test every two campaigns on the outputs that both have; NaN where there is nothing to test."""
    values = np.full((len(sheets), len(sheets)), np.nan)
    for one in range(len(sheets)):
        for other in range(one):
            _, mine, theirs = np.intersect1d(sheets[one].outputs, sheets[other].outputs, return_indices=True)
            if len(mine):
                test = permutation_test(
                    sheets[one].columns[measure][mine],
                    sheets[other].columns[measure][theirs],
                    STATISTICS[measure],
                    n_permutations=options.resamples,
                    seed=options.seed,
                )
                values[one, other] = values[other, one] = test.p_value
    return values


def _rank(figures: Sequence[dict[str, Any]], p_values: FloatArray) -> None:
    """Give each figure its rank and its cluster; an undefined one has neither."""
    defined = [place for place, figure in enumerate(figures) if figure["value"] is not None]
    scores = np.array([figures[place]["value"] for place in defined], dtype=np.float64)
    clusters = rank_clusters(scores, p_values[np.ix_(defined, defined)], level=SIGNIFICANCE)
    for place, cluster, score in zip(defined, clusters, scores, strict=True):
        figures[place] |= {"rank": 1 + int((scores > score).sum()), "cluster": cluster}


def _without_nan(values: FloatArray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


def _nothing_shared(chosen: OutputChoice, reference: Side) -> str:
    if chosen == "several":
        return (
            f"no output that all campaigns completed has several annotators in {reference.campaign!r}; "
            "compare on all shared outputs"
        )
    return "there is no output that all these campaigns completed; leave one out, or compare each on the outputs it has"
