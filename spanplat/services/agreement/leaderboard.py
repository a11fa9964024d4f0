"""Leaderboard: campaigns compared with one reference, on the same outputs, by every measure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce

import numpy as np
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics import RANKING_MEASURES, GammaOptions
from spanplat.metrics.resampling import bootstrap, f1_statistic, permutation_test, rank_clusters
from spanplat.metrics.spans import FloatArray, IntArray
from spanplat.models import Campaign
from spanplat.services.agreement.leaderboard_report import (
    Contrast,
    ContrastExample,
    Entry,
    Leaderboard,
    LeaderboardReference,
    MeasuredFigure,
    OutputChoice,
    PeopleFigures,
    RankedFigure,
)
from spanplat.services.agreement.scoresheets import Scoresheet, make_scoresheet
from spanplat.services.agreement.sides import (
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
from spanplat.services.background import (
    WHOLE,
    OnProgress,
    ResultKind,
    SignedRequest,
    WholeComputation,
    compute,
    sign,
)
from spanplat.services.campaigns import find_campaign

SIGNIFICANCE = 0.05
"""Two campaigns differ if the paired permutation test gives a smaller p-value. There is no correction for multiple tests."""

SECONDS_PER_SPAN = 3.5e-4
"""Rough time on one core."""
EXAMPLES = 3
"""Number of example outputs per campaign in a contrast of two campaigns."""


@dataclass(frozen=True)
class LeaderboardOptions:
    """Options of a leaderboard or a matrix. Every option is part of the result's signature."""

    rule: str = "first"
    """Rule for the reference's annotators: ``first``, ``each`` or ``group=K``. The other campaigns use ``first``."""
    outputs: OutputChoice = "shared"
    """Compared outputs. ``shared``: those that all campaigns completed. ``several``: those of them that several annotators of the
    reference completed, so that their agreement is about the same outputs. ``own``: for each campaign those it shares with the
    reference."""
    seed: int = 42
    samples: int = 30
    """Number of random samples for γ."""
    resamples: int = 1000
    """Number of resamples of the bootstrap and the permutation tests."""
    filters: Filters = field(default_factory=Filters)

    @property
    def gamma(self) -> GammaOptions:
        """Parameters of γ."""
        return GammaOptions(n_samples=self.samples, seed=self.seed)


@dataclass(frozen=True)
class LeaderboardSides:
    """Sides of a leaderboard or matrix."""

    sides: tuple[Side, ...]
    titles: tuple[str, ...]
    categories: tuple[str, ...]


def compute_leaderboard(
    database: Database, reference: str, campaigns: Sequence[str], options: LeaderboardOptions | None = None
) -> Leaderboard:
    """Return the leaderboard. Compute it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        The database with the campaigns.
    reference
        Slug of the reference campaign.
    campaigns
        Slugs of the other campaigns.
    options
        Options of the comparison.

    Returns
    -------
    Leaderboard

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If nothing can be compared. The message says what to do.
    """
    return compute(database, LEADERBOARD, (reference, *campaigns), options or LeaderboardOptions())


def find_entrants(session: Session, campaigns: Sequence[str], options: LeaderboardOptions) -> list[Campaign]:
    """Return the reference and then the other campaigns, without duplicates.

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
    """Return the readable parts of the signature."""
    shown = asdict(options)
    # Filters can be long lists. The digest in the signature covers them.
    del shown["filters"]
    return [f"campaigns:{len(campaigns) - 1}", *(f"{name}:{value}" for name, value in shown.items())]


def load_board(session: Session, found: Sequence[Campaign], options: LeaderboardOptions) -> LeaderboardSides:
    """Load the reference and the other campaigns."""
    categories = categories_of(session, found)
    keys = list(categories)
    return LeaderboardSides(
        tuple(load_side(session, campaign, keys, options.filters) for campaign in found),
        tuple(campaign.title for campaign in found),
        tuple(categories.values()),
    )


def figure_of(sheet: Scoresheet, measure: str, options: LeaderboardOptions) -> MeasuredFigure:
    """Return one figure with its interval and number of outputs, or the reason why it is undefined."""
    value, ranked = sheet.score(measure), RANKING_MEASURES[measure].measure
    if value is None:
        return MeasuredFigure(value=None, reason=ranked.why_undefined, low=None, high=None, outputs=0)
    # Up to 4,000 outputs, 1,000 resamples are one block of work, so more processes would not help.
    interval = bootstrap(
        sheet.columns[measure], ranked.statistic, n_resamples=options.resamples, seed=options.seed, n_jobs=1
    )
    return MeasuredFigure(
        value=value, low=float(interval.low[0]), high=float(interval.high[0]), outputs=sheet.support(measure)
    )


def shared_outputs(board: LeaderboardSides, alignments: Sequence[Alignment]) -> IntArray:
    """Return the outputs that occur in all alignments with the first side.

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


def _compute(board: LeaderboardSides, options: LeaderboardOptions, on_progress: OnProgress) -> Leaderboard:
    reference, hypotheses = board.sides[0], board.sides[1:]
    rule = Rule.parse(options.rule)
    # Computed for `own` too: the report always says how many outputs all campaigns share, and the call rejects a campaign without any.
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
                reference, side, alignment, board.categories, measures=list(RANKING_MEASURES), gamma=options.gamma
            )
        )
        # The scores count as the first half of the work, intervals and tests as the second half.
        on_progress(place + 1, 2 * len(hypotheses))
    p_values = dict[str, FloatArray]()
    figures = [dict[str, RankedFigure]() for _ in sheets]
    for place, measure in enumerate(RANKING_MEASURES):
        p_values[measure] = _p_values(sheets, measure, options)
        ranked = _rank([figure_of(sheet, measure, options) for sheet in sheets], p_values[measure])
        for own, figure in zip(figures, ranked, strict=True):
            own[measure] = figure
        on_progress(len(RANKING_MEASURES) + place + 1, 2 * len(RANKING_MEASURES))
    return Leaderboard(
        reference=LeaderboardReference(reference.campaign, board.titles[0], options.rule),
        chosen=options.outputs,
        outputs=None if options.outputs == "own" else len(shared),
        shared=len(shared),
        entries=[
            Entry(
                campaign=side.campaign,
                title=title,
                outputs=len(sheet.outputs),
                left_out=len({work.output_id for work in side.works}) - len(sheet.outputs),
                spans=sheet.spans,
                figures=own,
                by_category=sheet.by_category,
            )
            for side, title, sheet, own in zip(hypotheses, board.titles[1:], sheets, figures, strict=True)
        ],
        contrasts=_contrasts(sheets, figures),
        human=_human(reference, within, board, options) if len(within) else None,
        p_values={measure: _without_nan(values) for measure, values in p_values.items()},
    )


def _human(reference: Side, within: Alignment, board: LeaderboardSides, options: LeaderboardOptions) -> PeopleFigures:
    """Score the reference's annotators against each other, as a human baseline for the campaigns."""
    sheet = make_scoresheet(
        reference, reference, within, board.categories, measures=list(RANKING_MEASURES), gamma=options.gamma
    )
    return PeopleFigures(
        len(sheet.outputs), {measure: figure_of(sheet, measure, options) for measure in RANKING_MEASURES}
    )


def _contrasts(sheets: Sequence[Scoresheet], figures: Sequence[Mapping[str, MeasuredFigure]]) -> list[Contrast]:
    """Return a contrast for each pair of campaigns that are first and second by some measure.

    A contrast names the outputs with the largest difference in character F1 (same category).
    """
    pairs = set()
    # Different measures may have different leaders. Pairs of places are a set, so equal leaders give one contrast.
    for measure in RANKING_MEASURES:
        values = {place: own[measure].value for place, own in enumerate(figures)}
        defined = {place: value for place, value in values.items() if value is not None}
        order = sorted(defined, key=lambda place: -defined[place])
        if len(order) > 1:
            pairs.add((order[0], order[1]))
    return [_contrast(sheets, *pair) for pair in sorted(pairs)]


def _contrast(sheets: Sequence[Scoresheet], first: int, second: int) -> Contrast:
    outputs, mine, theirs = np.intersect1d(sheets[first].outputs, sheets[second].outputs, return_indices=True)
    scores = [
        f1_statistic(sheets[place].columns["char.hard"][rows])[:, 2]
        for place, rows in ((first, mine), (second, theirs))
    ]
    difference = scores[0] - scores[1]
    # Column 3 counts characters of the reference. Among equal differences a text with more marks comes first.
    marked = sheets[first].columns["char.hard"][mine, 3]
    order = np.lexsort((outputs, -marked, -difference))
    reverse = np.lexsort((outputs, -marked, difference))

    def example(row: int) -> ContrastExample:
        return ContrastExample(int(outputs[row]), (float(scores[0][row]), float(scores[1][row])))

    return Contrast(
        entries=(first, second),
        better=(int((difference > 0).sum()), int((difference < 0).sum())),
        first=[example(row) for row in order[:EXAMPLES].tolist() if difference[row] > 0],
        second=[example(row) for row in reverse[:EXAMPLES].tolist() if difference[row] < 0],
    )


def _p_values(sheets: Sequence[Scoresheet], measure: str, options: LeaderboardOptions) -> FloatArray:
    """Return the p-values of all pairs of campaigns on the outputs that both have; NaN if there is no such output."""
    values = np.full((len(sheets), len(sheets)), np.nan)
    for one in range(len(sheets)):
        for other in range(one):
            # The test is paired. With `own` outputs the two campaigns may have different ones.
            _, mine, theirs = np.intersect1d(sheets[one].outputs, sheets[other].outputs, return_indices=True)
            if len(mine):
                test = permutation_test(
                    sheets[one].columns[measure][mine],
                    sheets[other].columns[measure][theirs],
                    RANKING_MEASURES[measure].measure.statistic,
                    n_permutations=options.resamples,
                    seed=options.seed,
                )
                values[one, other] = values[other, one] = test.p_value
    return values


def _rank(figures: Sequence[MeasuredFigure], p_values: FloatArray) -> list[RankedFigure]:
    """Return the figures with rank and cluster. An undefined figure has neither."""
    ranked = [RankedFigure(**vars(figure)) for figure in figures]
    defined = [place for place, figure in enumerate(figures) if figure.value is not None]
    scores = np.array([figures[place].value for place in defined], dtype=np.float64)
    # Clusters follow from the tests, ranks from the scores: entries of one cluster may have different ranks.
    clusters = rank_clusters(scores, p_values[np.ix_(defined, defined)], level=SIGNIFICANCE)
    for place, cluster, score in zip(defined, clusters, scores, strict=True):
        ranked[place] = replace(ranked[place], rank=1 + int((scores > score).sum()), cluster=cluster)
    return ranked


def _without_nan(values: FloatArray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in values]


def _nothing_shared(chosen: OutputChoice, reference: Side) -> str:
    if chosen == "several":
        return (
            f"no output that all campaigns completed has several annotators in {reference.campaign!r}; "
            "compare on all shared outputs"
        )
    return "there is no output that all these campaigns completed; leave one out, or compare each on the outputs it has"


def _request(
    session: Session, campaigns: Sequence[str], options: LeaderboardOptions
) -> SignedRequest[LeaderboardOptions]:
    found = find_entrants(session, campaigns, options)
    return sign(session, "leaderboard", found, options, shown=shown_options(found, options))


def _estimate(session: Session, request: SignedRequest[LeaderboardOptions]) -> float:
    return SECONDS_PER_SPAN * count_spans(session, request.campaigns)


def _load(session: Session, request: SignedRequest[LeaderboardOptions]) -> WholeComputation:
    board = load_board(session, request.campaigns, request.options)
    return WholeComputation(lambda on_progress: _compute(board, request.options, on_progress))


LEADERBOARD = ResultKind("leaderboard", WHOLE, LeaderboardOptions, Leaderboard, _request, _estimate, _load)
"""Campaigns compared with a reference. The first slug is the reference."""
