"""Significance test for the difference between the shares of several groups."""

from collections.abc import Sequence

import scipy  # it loads its submodules on first use; the slow ones are needed for agreement only

GROUPS_OF_FISHER = 2


def difference_of_shares(counts: Sequence[tuple[int, int]]) -> float | None:
    """Return the p-value of the difference between the shares of several groups.

    Two groups are compared by Fisher's exact test, two-sided (R. A. Fisher, The Design of Experiments, 1935). More groups are compared
    by Pearson's chi-squared test of independence, without a correction.

    Parameters
    ----------
    counts
        For each group: the total number, and the number of right ones.

    Returns
    -------
    float or None
        None if fewer than two groups have members, or if none or all are right. Then there is nothing to test.

    Examples
    --------
    >>> print(f"{difference_of_shares([(10, 9), (10, 3)]):.4f}")
    0.0198
    >>> difference_of_shares([(10, 10), (10, 10)]) is None
    True
    """
    table = [(right, total - right) for total, right in counts if total]
    if len(table) < GROUPS_OF_FISHER or any(sum(column) == 0 for column in zip(*table, strict=True)):
        return None
    if len(table) == GROUPS_OF_FISHER:
        return float(scipy.stats.fisher_exact(table).pvalue)
    return float(scipy.stats.chi2_contingency(table, correction=False).pvalue)
