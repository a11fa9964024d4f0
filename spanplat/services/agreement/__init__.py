"""Agreement: the sides of a comparison, measures over them, leaderboards, disagreement and statistics."""

from spanplat.services.agreement.leaderboard import LeaderboardOptions
from spanplat.services.agreement.leaderboard_report import Entry, Leaderboard
from spanplat.services.agreement.sides import Filters, categories_of, load_side

__all__ = [
    "Entry",
    "Filters",
    "Leaderboard",
    "LeaderboardOptions",
    "categories_of",
    "load_side",
]
