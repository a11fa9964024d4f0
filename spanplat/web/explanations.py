"""What each figure of the agreement page measures and what it ignores, in plain words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask_babel import lazy_gettext as _


@dataclass(frozen=True)
class Explanation:
    """The text behind a figure's ⓘ."""

    measures: Any
    ignores: Any


EXPLANATIONS: Mapping[str, Explanation] = {
    "char_hard": Explanation(
        _(
            "How much of the marked text both sides marked with the same category, counted in characters and pooled over all outputs. "
            "Precision: the share of the hypothesis’s characters that the reference has too. Recall: the other way round. "
            "F1: their harmonic mean."
        ),
        _(
            "How many spans the characters belong to: one long span counts as much as several short ones of the same total length."
        ),
    ),
    "char_soft": Explanation(
        _("The same without asking for the same category: did both sides see a problem at the same place?"),
        _(
            "What kind of problem it is. The difference to the figure with categories (Δ) is what disagreement about categories costs."
        ),
    ),
    "gamma_hard": Explanation(
        _(
            "γ (Mathet et al. 2015): aligns the spans of both sides so that they disagree least in place and category, and compares "
            "that with random annotations of the same kind. 1 is perfect, 0 is chance, negative is worse than chance. "
            "Every span stands in exactly one alignment. Mean over outputs."
        ),
        _("Outputs where fewer than two sides marked anything: there S∅ speaks."),
    ),
    "gamma_soft": Explanation(
        _(
            "γ where a span may stand in several alignments, so that one long span can answer to several short ones "
            "(Titeux and Riad 2021). Mean over outputs."
        ),
        _("Outputs where fewer than two sides marked anything: there S∅ speaks."),
    ),
    "s_empty": Explanation(
        _(
            "Agreement on marking nothing: over the outputs where γ says nothing, the mean of 1/(1 + number of spans). "
            "1 when neither side marked anything in any of them."
        ),
        _("Where the spans are and what category they have."),
    ),
    "pearson": Explanation(
        _(
            "Pearson correlation between the numbers of spans of both sides, over all pairs of an output and a category. "
            "Macro: the mean of the correlations within each category."
        ),
        _("Where the spans are: only how many there are."),
    ),
    "compared": Explanation(
        _(
            "Outputs that both sides completed; only these enter the figures. An output that a side completed without any span counts "
            "as “nothing to mark”; one it never completed is absent."
        ),
        _("Outputs that only one side completed; their numbers stand here so that nothing is hidden."),
    ),
}
