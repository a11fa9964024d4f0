"""The measures of the leaderboard as the pages name them."""

from collections.abc import Mapping
from typing import Any

from flask_babel import lazy_gettext as _

MEASURE_TITLES: Mapping[str, Any] = {
    "char.hard": _("Character F1, same category"),
    "char.soft": _("Character F1, any category"),
    "char_binary.hard": _("Character F1 counting each character once, same category"),
    "char_binary.soft": _("Character F1 counting each character once, any category"),
    "partial_credit.hard": _("Matched spans by their overlap (MPP), same category"),
    "partial_credit.soft": _("Matched spans by their overlap (MPP), any category"),
    "partial.hard": _("Matched spans (MP), same category"),
    "partial.soft": _("Matched spans (MP), any category"),
    "exact.hard": _("Identical spans (EM), same category"),
    "exact.soft": _("Identical spans (EM), any category"),
    "best_match.hard": _("Best-overlapping span, same category"),
    "best_match.soft": _("Best-overlapping span, any category"),
    "gamma.hard": _("γ"),
    "gamma.soft": _("γ, soft alignment"),
    "s_empty": _("Agreement on nothing S∅"),
    "pearson": _("Correlation of counts ρ"),
}
"""By name, in the order shown. The values of the matched measures and of characters are F1, micro averages."""
