"""Pages of agreement: comparisons, leaderboards, the explorer of disagreements, statistics."""

from spanplat.web.agreement import (
    agreement_tables,
    comparison,
    explorer,
    explorer_tables,
    leaderboard,
    sentinels,
    statistics,
    systems,
)

PAGES = (comparison, agreement_tables, explorer, explorer_tables, leaderboard, sentinels, statistics, systems)
"""The modules with routes."""
COMPUTED_PARTS = (
    comparison.PART,
    agreement_tables.PART,
    sentinels.PART,
    leaderboard.BOARD,
    leaderboard.MATRIX_PART,
    systems.PART,
)
"""Parts of pages with figures that may take long, so that a worker computes them."""
