"""Matrix of agreement: every pair of campaigns by one measure, on the same outputs.

The diagonal has the agreement among the annotators of one campaign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.metrics import RANKING_MEASURES
from spanplat.services.agreement.leaderboard import (
    LeaderboardOptions,
    LeaderboardSides,
    figure_of,
    find_entrants,
    load_board,
    shared_outputs,
    shown_options,
)
from spanplat.services.agreement.leaderboard_report import MeasuredFigure, OutputChoice
from spanplat.services.agreement.scoresheets import make_scoresheet
from spanplat.services.agreement.sides import Alignment, Rule, align, align_within, count_spans, outputs_of, restrict
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

SECONDS_PER_SPAN = 4e-5
"""Seconds per span of all campaigns. It is multiplied by the number of campaigns, because all pairs are compared."""


@dataclass(frozen=True)
class MatrixOptions:
    """Options of a matrix: the measure, and how the sides are chosen."""

    measure: str
    board: LeaderboardOptions = field(default_factory=LeaderboardOptions)


@dataclass(frozen=True)
class MatrixCampaign:
    """One row and column of a matrix."""

    campaign: str
    title: str


@dataclass(frozen=True, kw_only=True)
class MatrixCell(MeasuredFigure):
    """Figure of two campaigns."""

    compared: int
    """Number of compared outputs."""


@dataclass(frozen=True, kw_only=True)
class Matrix(Report):
    """Report on the agreement of all pairs of campaigns by one measure."""

    campaigns: Sequence[MatrixCampaign]
    measure: str
    rule: str
    chosen: OutputChoice
    outputs: int | None
    """Number of compared outputs; None if each pair has its own."""
    cells: Sequence[Sequence[MatrixCell | None]]
    """Square matrix. The earlier campaign is the reference (every measure is symmetric, γ up to its random samples). A cell is None if
    there is nothing to compare, as on the diagonal of a campaign with one annotator per output."""


def compute_matrix(
    database: Database, campaigns: Sequence[str], measure: str, options: LeaderboardOptions | None = None
) -> Matrix:
    """Return the matrix of campaigns. Compute it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        The database with the campaigns.
    campaigns
        Two or more slugs. The rule and the choice of outputs refer to the first campaign.
    measure
        Name of the measure, see `spanplat.metrics.registry.RANKING_MEASURES`.
    options
        Options of the comparison.

    Returns
    -------
    Matrix

    Raises
    ------
    NotFound
        If there is no such campaign or measure.
    InvalidInput
        If nothing can be compared. The message says what to do.
    """
    return compute(database, MATRIX, campaigns, MatrixOptions(measure, options or LeaderboardOptions()))


def _compute(board: LeaderboardSides, measure: str, options: LeaderboardOptions, on_progress: OnProgress) -> Matrix:
    size = len(board.sides)
    alignments = {
        (row, column): _between(board, row, column, options)
        for row, column in [*((place, place) for place in range(size)), *combinations(range(size), 2)]
    }
    outputs = None
    if options.outputs != "own":
        # An output that every campaign shares with the first is one that all campaigns completed.
        outputs = shared_outputs(board, [alignments[0, column] for column in range(1, size)])
        if options.outputs == "several":
            outputs = np.intersect1d(outputs, outputs_of(board.sides[0], alignments[0, 0].reference))
        if len(outputs) == 0:
            raise InvalidInput(
                "there is no such output that all these campaigns completed; leave one out, or compare each pair on its own outputs"
            )
    cells: list[list[MatrixCell | None]] = [[None] * size for _ in range(size)]
    for place, ((row, column), alignment) in enumerate(alignments.items()):
        on_progress(place, len(alignments))
        rows = alignment if outputs is None else restrict(alignment, board.sides[row], outputs)
        # Every measure is symmetric, so one computation fills both cells.
        cells[row][column] = cells[column][row] = _cell(board, (row, column), rows, measure, options)
    return Matrix(
        campaigns=[MatrixCampaign(side.campaign, title) for side, title in zip(board.sides, board.titles, strict=True)],
        measure=measure,
        rule=options.rule,
        chosen=options.outputs,
        outputs=None if outputs is None else len(outputs),
        cells=cells,
    )


def _between(board: LeaderboardSides, row: int, column: int, options: LeaderboardOptions) -> Alignment:
    # The rule is for the reference, which is the first campaign.
    rule = Rule.parse(options.rule) if row == 0 else Rule("first")
    if row == column:
        return align_within(board.sides[row], rule)
    return align(board.sides[row], rule, board.sides[column], Rule("first"))


def _cell(
    board: LeaderboardSides, pair: tuple[int, int], rows: Alignment, measure: str, options: LeaderboardOptions
) -> MatrixCell | None:
    if len(rows) == 0:
        return None
    reference, hypothesis = (board.sides[place] for place in pair)
    sheet = make_scoresheet(reference, hypothesis, rows, board.categories, measures=[measure], gamma=options.gamma)
    return MatrixCell(**vars(figure_of(sheet, measure, options)), compared=len(sheet.outputs))


def _request(session: Session, campaigns: Sequence[str], options: MatrixOptions) -> SignedRequest[MatrixOptions]:
    if options.measure not in RANKING_MEASURES:
        raise NotFound(f"there is no measure {options.measure!r} here; choose one of {', '.join(RANKING_MEASURES)}")
    if len(set(campaigns)) < 2:
        raise InvalidInput("choose at least two campaigns")
    found = find_entrants(session, campaigns, options.board)
    shown = shown_options(found, options.board)
    return sign(session, "matrix", found, options, shown=[f"measure:{options.measure}", *shown])


def _estimate(session: Session, request: SignedRequest[MatrixOptions]) -> float:
    return SECONDS_PER_SPAN * len(request.campaigns) * count_spans(session, request.campaigns)


def _load(session: Session, request: SignedRequest[MatrixOptions]) -> WholeComputation:
    measure, options = request.options.measure, request.options.board
    board = load_board(session, request.campaigns, options)
    return WholeComputation(lambda on_progress: _compute(board, measure, options, on_progress))


MATRIX = ResultKind("matrix", WHOLE, MatrixOptions, Matrix, _request, _estimate, _load)
"""Agreement of all pairs of campaigns by one measure."""
