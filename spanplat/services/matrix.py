"""Every campaign against every other by one measure, on the same outputs; on the diagonal the annotators of one campaign."""

from collections.abc import Sequence
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
    keep_result,
    load_board,
    shared_outputs,
    sign,
    stored_result,
)
from spanplat.services.scoresheets import STATISTICS, align_within, make_scoresheet, outputs_of, restrict
from spanplat.services.sides import Alignment, Rule, align


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
    options = options or LeaderboardOptions()
    with database.reading() as session:
        stored = stored_matrix(session, campaigns, measure, options)
        if stored is not None:
            return stored
        board = load_board(session, _kind(measure), campaigns[0], campaigns[1:], options)
    result = _compute(board, measure, options)
    keep_result(database, result)
    return result


def stored_matrix(
    session: Session, campaigns: Sequence[str], measure: str, options: LeaderboardOptions
) -> dict[str, Any] | None:
    """Return the matrix if it is stored for the present data, else None; raises as `compute_matrix` does."""
    if len(set(campaigns)) < 2:
        raise InvalidInput("choose at least two campaigns")
    found = find_entrants(session, campaigns[0], campaigns[1:], options)
    return stored_result(session, sign(session, _kind(measure), found, options))


def _kind(measure: str) -> str:
    if measure not in STATISTICS:
        raise NotFound(f"there is no measure {measure!r} here; choose one of {', '.join(STATISTICS)}")
    return f"matrix:{measure}"


def _compute(board: Board, measure: str, options: LeaderboardOptions) -> dict[str, Any]:
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
    for (row, column), alignment in alignments.items():
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
        "other_categories": list(board.other_categories),
        "signature": board.signature,
        "version": board.version,
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
