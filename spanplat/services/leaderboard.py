"""A leaderboard: any number of campaigns against one reference, on the same outputs, by every measure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics import GammaOptions
from spanplat.metrics.resampling import bootstrap, f1_statistic, permutation_test, rank_clusters
from spanplat.metrics.spans import FloatArray, IntArray
from spanplat.models import Campaign
from spanplat.services.campaigns import find_campaign
from spanplat.services.results import WHOLE, Request, ResultKind, Tell, WholeComputation, compute, sign
from spanplat.services.scoresheets import (
    STATISTICS,
    WHY_UNDEFINED,
    Scoresheet,
    make_scoresheet,
)
from spanplat.services.sides import (
    Alignment,
    Filters,
    Rule,
    Side,
    align,
    align_within,
    categories_of,
    count_spans,
    load_side,
    outputs_of,
    restrict,
)

SIGNIFICANCE = 0.05
"""Two campaigns are told apart when the paired permutation test gives less; p-values are not corrected for their number."""

SECONDS_PER_SPAN = 3.5e-4
EXAMPLES = 3
"""Outputs that are named for what tells two campaigns apart."""

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
    """The sides of a leaderboard or matrix."""

    sides: tuple[Side, ...]
    titles: tuple[str, ...]
    categories: tuple[str, ...]


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
        ``entries`` (one per campaign, with ``figures`` by measure: value, interval, rank, cluster, number of outputs, and
        ``by_category`` the character F1), ``contrasts`` (outputs that tell the first two apart), ``human``
        (the same for the agreement of the reference's own annotators, or None), ``p_values`` by measure, ``outputs``.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If nothing can be compared, with what to do about it.
    """
    return compute(database, LEADERBOARD, (reference, *campaigns), options or LeaderboardOptions())


def find_entrants(session: Session, campaigns: Sequence[str], options: LeaderboardOptions) -> list[Campaign]:
    """Return the reference and then the other campaigns, each once.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If no other campaign is named, or the rule does not choose one side.
    """
    slugs = list(dict.fromkeys(campaigns))
    if len(slugs) < 2:
        raise InvalidInput("choose at least one campaign besides the reference")
    if Rule.parse(options.rule).name not in ("first", "each", "group"):
        raise InvalidInput(
            f"the reference of a leaderboard is one side: use the rule first, each or group=K, not {options.rule}"
        )
    return [find_campaign(session, slug) for slug in slugs]


def shown_options(campaigns: Sequence[Campaign], options: LeaderboardOptions) -> list[str]:
    """Return what people should be able to read in a signature."""
    shown = asdict(options)
    del shown["filters"]
    return [f"campaigns:{len(campaigns) - 1}", *(f"{name}:{value}" for name, value in shown.items())]


def load_board(session: Session, found: Sequence[Campaign], options: LeaderboardOptions) -> Board:
    """Load the reference and the other campaigns."""
    categories = categories_of(session, found)
    keys = list(categories)
    return Board(
        tuple(load_side(session, campaign, keys, options.filters) for campaign in found),
        tuple(campaign.title for campaign in found),
        tuple(categories.values()),
    )


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


def _compute(board: Board, options: LeaderboardOptions, tell: Tell) -> dict[str, Any]:
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
    sheets = []
    for place, (side, alignment) in enumerate(zip(hypotheses, alignments, strict=True)):
        sheets.append(
            make_scoresheet(
                reference, side, alignment, board.categories, measures=list(STATISTICS), gamma=options.gamma
            )
        )
        tell(place + 1, 2 * len(hypotheses))
    p_values, figures = {}, [dict[str, Any]() for _ in sheets]
    for place, measure in enumerate(STATISTICS):
        p_values[measure] = _p_values(sheets, measure, options)
        for own, sheet in zip(figures, sheets, strict=True):
            own[measure] = figure_of(sheet, measure, options)
        tell(len(STATISTICS) + place + 1, 2 * len(STATISTICS))
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
                "by_category": sheet.by_category,
            }
            for side, title, sheet, own in zip(hypotheses, board.titles[1:], sheets, figures, strict=True)
        ],
        "contrasts": _contrasts(sheets, figures),
        "human": _human(reference, within, board, options) if len(within) else None,
        "p_values": {measure: _without_nan(values) for measure, values in p_values.items()},
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


def _contrasts(sheets: Sequence[Scoresheet], figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Name, for every two campaigns that are first and second by some measure, the outputs on which one is far closer than the other.

    Each output comes with the character F1 (same category) of the two.
    """
    pairs = set()
    for measure in STATISTICS:
        defined = [place for place, own in enumerate(figures) if own[measure]["value"] is not None]
        order = sorted(defined, key=lambda place: -figures[place][measure]["value"])
        if len(order) > 1:
            pairs.add((order[0], order[1]))
    return [_contrast(sheets, *pair) for pair in sorted(pairs)]


def _contrast(sheets: Sequence[Scoresheet], first: int, second: int) -> dict[str, Any]:
    outputs, mine, theirs = np.intersect1d(sheets[first].outputs, sheets[second].outputs, return_indices=True)
    scores = [
        f1_statistic(sheets[place].columns["char.hard"][rows])[:, 2]
        for place, rows in ((first, mine), (second, theirs))
    ]
    difference = scores[0] - scores[1]
    marked = sheets[first].columns["char.hard"][
        mine, 3
    ]  # characters of the reference: a text without any teaches little
    order = np.lexsort((outputs, -marked, -difference))
    reverse = np.lexsort((outputs, -marked, difference))
    return {
        "entries": [first, second],
        "better": [int((difference > 0).sum()), int((difference < 0).sum())],
        "first": [_example(outputs, scores, row) for row in order[:EXAMPLES].tolist() if difference[row] > 0],
        "second": [_example(outputs, scores, row) for row in reverse[:EXAMPLES].tolist() if difference[row] < 0],
    }


def _example(outputs: IntArray, scores: Sequence[FloatArray], row: int) -> dict[str, Any]:
    return {"output": int(outputs[row]), "scores": [float(own[row]) for own in scores]}


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


def _request(session: Session, campaigns: Sequence[str], options: LeaderboardOptions) -> Request[LeaderboardOptions]:
    found = find_entrants(session, campaigns, options)
    return sign(session, "leaderboard", found, options, shown=shown_options(found, options))


def _estimate(session: Session, request: Request[LeaderboardOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: Request[LeaderboardOptions]) -> WholeComputation:
    board = load_board(session, request.campaigns, request.options)
    return WholeComputation(lambda tell: _compute(board, request.options, tell))


LEADERBOARD = ResultKind("leaderboard", WHOLE, LeaderboardOptions, _request, _estimate, _load)
"""Campaigns against a reference; the first slug is the reference."""
