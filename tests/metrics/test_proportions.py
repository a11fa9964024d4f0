"""Differences between groups, compared with figures computed by hand."""

from math import comb

import pytest

from spanplat.metrics.proportions import difference_of_shares


def test_two_groups_are_compared_exactly() -> None:
    # The lady tasting tea with three of four right in each row: 34/70.
    assert difference_of_shares([(4, 3), (4, 1)]) == pytest.approx(34 / 70)
    assert difference_of_shares([(4, 4), (4, 0)]) == pytest.approx(2 / comb(8, 4))


def test_more_groups_are_compared_by_chi_squared() -> None:
    # Expected 5 and 5 in every group: chi-squared 2 * (4 + 0 + 4) / 5 = 3.2 with 2 degrees of freedom, p = exp(-1.6).
    assert difference_of_shares([(10, 7), (10, 5), (10, 3)]) == pytest.approx(0.201896517994655)


@pytest.mark.parametrize("counts", [[], [(9, 4)], [(9, 4), (0, 0)], [(5, 5), (7, 7)], [(5, 0), (7, 0)]])
def test_where_there_is_nothing_to_test_there_is_no_figure(counts: list[tuple[int, int]]) -> None:
    assert difference_of_shares(counts) is None
