"""Agreement of all pairs of campaigns by one measure."""

from collections.abc import Callable

import pytest

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.services.agreement.leaderboard import LeaderboardOptions, compute_leaderboard
from spanplat.services.agreement.matrix import compute_matrix

FIRST, LATER = [(0, 6, "Wrong")], [(20, 29, "Unclear")]
QUICK = LeaderboardOptions(resamples=50)


@pytest.fixture
def names(imported: Callable[..., str]) -> list[str]:
    """Three campaigns; in the first, two people marked one output."""
    return [
        imported("one", ann=dict.fromkeys(range(6), FIRST), ben={2: LATER}),
        imported("two", ann={output: FIRST if output % 2 else LATER for output in range(6)}),
        imported("three", ann=dict.fromkeys(range(4), LATER)),
    ]


def test_a_matrix_is_symmetric_and_its_first_row_is_the_leaderboard(database: Database, names: list[str]) -> None:
    matrix = compute_matrix(database, names, "char.hard", QUICK).as_json()
    board = compute_leaderboard(database, names[0], names[1:], QUICK).as_json()
    cells = matrix["cells"]
    assert matrix["outputs"] == board["outputs"] == 4
    assert [cell["value"] for cell in cells[0][1:]] == [
        entry["figures"]["char.hard"]["value"] for entry in board["entries"]
    ]
    assert all(cells[row][column] == cells[column][row] for row in range(3) for column in range(3))


def test_the_diagonal_compares_annotators_of_one_campaign(database: Database, names: list[str]) -> None:
    cells = compute_matrix(database, names, "char.soft", QUICK).as_json()["cells"]
    assert (cells[0][0]["value"], cells[0][0]["compared"]) == (0, 1)
    assert cells[1][1] is None


def test_each_pair_may_use_its_own_outputs(database: Database, names: list[str]) -> None:
    own = LeaderboardOptions(outputs="own", resamples=50)
    cells = compute_matrix(database, names, "char.soft", own).as_json()["cells"]
    assert (cells[0][1]["compared"], cells[0][2]["compared"]) == (6, 4)


def test_what_cannot_be_compared_is_said(database: Database, names: list[str]) -> None:
    with pytest.raises(InvalidInput, match="at least two campaigns"):
        compute_matrix(database, names[:1], "char.soft", QUICK)
    with pytest.raises(NotFound, match=r"no measure 'luck' here; choose one of char\.hard"):
        compute_matrix(database, names, "luck", QUICK)
