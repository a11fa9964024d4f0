"""Every campaign against every other by one measure, on the same outputs; on the diagonal the annotators of one campaign."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.services.leaderboard import (
    Board,
    LeaderboardOptions,
    figure_of,
    find_entrants,
    load_board,
    shared_outputs,
    shown_options,
)
from spanplat.services.results import WHOLE, Request, ResultKind, Tell, WholeComputation, compute, sign
from spanplat.services.scoresheets import STATISTICS, make_scoresheet
from spanplat.services.sides import Alignment, Rule, align, align_within, count_spans, outputs_of, restrict

SECONDS_PER_SPAN = 4e-5
"""Of all campaigns, for each campaign: every one is compared with every other."""


@dataclass(frozen=True)
class MatrixOptions:
    """By which measure, and how the sides are chosen."""

    measure: str
    board: LeaderboardOptions = field(default_factory=LeaderboardOptions)


def compute_matrix(
    database: Database, campaigns: Sequence[str], measure: str, options: LeaderboardOptions | None = None
) -> dict[str, Any]:
    """Return the matrix of campaigns, computing it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        Where the campaigns are.
    campaigns
        Two slugs or more; the rule and the choice of outputs refer to the first.
    measure
        Name of the measure, see `spanplat.services.scoresheets.STATISTICS`.
    options
        How to compare.

    Returns
    -------
    dict
        ``campaigns``, ``measure``, ``outputs`` and ``cells``: a square of figures with intervals, the earlier campaign being the
        reference (every measure is symmetric, γ up to its random samples); None where a campaign's outputs have one annotator each.

    Raises
    ------
    NotFound
        If there is no such campaign or measure.
    InvalidInput
        If nothing can be compared, with what to do about it.
    """
    return compute(database, MATRIX, campaigns, MatrixOptions(measure, options or LeaderboardOptions()))


def _compute(board: Board, measure: str, options: LeaderboardOptions, tell: Tell) -> dict[str, Any]:
    size = len(board.sides)
    alignments = {
        (row, column): _between(board, row, column, options)
        for row, column in [*((place, place) for place in range(size)), *combinations(range(size), 2)]
    }
    outputs = None
    if options.outputs != "own":
        outputs = shared_outputs(board, [alignments[0, column] for column in range(1, size)])
        if options.outputs == "several":
            outputs = np.intersect1d(outputs, outputs_of(board.sides[0], alignments[0, 0].reference))
        if len(outputs) == 0:
            raise InvalidInput(
                "there is no such output that all these campaigns completed; leave one out, or compare each pair on its own outputs"
            )
    cells: list[list[dict[str, Any] | None]] = [[None] * size for _ in range(size)]
    for place, ((row, column), alignment) in enumerate(alignments.items()):
        tell(place, len(alignments))
        rows = alignment if outputs is None else restrict(alignment, board.sides[row], outputs)
        cells[row][column] = cells[column][row] = _cell(board, (row, column), rows, measure, options)
    return {
        "campaigns": [
            {"campaign": side.campaign, "title": title} for side, title in zip(board.sides, board.titles, strict=True)
        ],
        "measure": measure,
        "rule": options.rule,
        "chosen": options.outputs,
        "outputs": None if outputs is None else len(outputs),
        "cells": cells,
    }


def _between(board: Board, row: int, column: int, options: LeaderboardOptions) -> Alignment:
    rule = Rule.parse(options.rule) if row == 0 else Rule("first")
    if row == column:
        return align_within(board.sides[row], rule)
    return align(board.sides[row], rule, board.sides[column], Rule("first"))


def _cell(
    board: Board, pair: tuple[int, int], rows: Alignment, measure: str, options: LeaderboardOptions
) -> dict[str, Any] | None:
    if len(rows) == 0:
        return None
    reference, hypothesis = (board.sides[place] for place in pair)
    sheet = make_scoresheet(reference, hypothesis, rows, board.categories, measures=[measure], gamma=options.gamma)
    return {**figure_of(sheet, measure, options), "compared": len(sheet.outputs)}


def _request(session: Session, campaigns: Sequence[str], options: MatrixOptions) -> Request[MatrixOptions]:
    if options.measure not in STATISTICS:
        raise NotFound(f"there is no measure {options.measure!r} here; choose one of {', '.join(STATISTICS)}")
    if len(set(campaigns)) < 2:
        raise InvalidInput("choose at least two campaigns")
    found = find_entrants(session, campaigns, options.board)
    shown = shown_options(found, options.board)
    return sign(session, "matrix", found, options, shown=[f"measure:{options.measure}", *shown])


def _estimate(session: Session, request: Request[MatrixOptions]) -> float:
    return SECONDS_PER_SPAN * len(request.campaigns) * count_spans(session, request.campaigns)


def _load(session: Session, request: Request[MatrixOptions]) -> WholeComputation:
    measure, options = request.options.measure, request.options.board
    board = load_board(session, request.campaigns, options)
    return WholeComputation(lambda tell: _compute(board, measure, options, tell))


MATRIX = ResultKind("matrix", WHOLE, MatrixOptions, _request, _estimate, _load)
"""Campaigns against each other by one measure."""
