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
    "char": Explanation(
        _(
            "Characters marked by both sides, each as often as it was marked, over all characters marked. What the cards show."
        ),
        _("How many spans the characters belong to: one long span counts as much as several short ones."),
    ),
    "char_binary": Explanation(
        _("The same with every character counted once, however many spans of a side cover it."),
        _("That a side marked a place several times."),
    ),
    "exact": Explanation(
        _("Spans that begin and end at the same characters on both sides, each matched once."),
        _("Spans that overlap but are not identical: they count as missed and as extra."),
    ),
    "partial": Explanation(
        _("Spans matched one to one that overlap by at least one character; each match counts fully."),
        _("How well matched spans overlap; making every span longer raises it."),
    ),
    "partial_credit": Explanation(
        _(
            "Spans matched one to one; a match counts by the share of the span that overlaps. Recommended with micro averaging "
            "(Perrella et al. 2026)."
        ),
        _("Overlaps beyond the best one-to-one matching: a span split in two is matched once."),
    ),
    "best_match": Explanation(
        _("Each span against the span of the other side that overlaps it most, by the share of it that overlaps."),
        _("Whether several spans chose the same partner."),
    ),
    "span_average": Explanation(
        _("As the best match, but divided by the length of the other side’s span, as printed by Kasner et al. (2025)."),
        _("How much of the span itself the partner covers."),
    ),
    "category.precision": Explanation(
        _(
            "Of the characters that the hypothesis marked with this category, the share that the reference marked with it too."
        ),
        _("Characters of this category that the hypothesis missed."),
    ),
    "category.recall": Explanation(
        _(
            "Of the characters that the reference marked with this category, the share that the hypothesis marked with it too."
        ),
        _("Characters that the hypothesis marked beyond those."),
    ),
    "category.f1": Explanation(
        _("The harmonic mean of precision and recall."), _("Which of the two is the lower one.")
    ),
    "category.pearson": Explanation(
        _("Pearson correlation of the numbers of spans of this category per output."), _("Where the spans are.")
    ),
    "category.gamma": Explanation(
        _("γ-k (Mathet 2017): agreement on the category of the spans that were aligned, for those of this category."),
        _("Spans without a partner, and how well partners overlap."),
    ),
    "p": Explanation(
        _(
            "How often a difference at least this large comes about when the two campaigns’ annotations are exchanged at random, "
            "output by output. Below 0.05 it is unlikely to be chance."
        ),
        _("How large the difference is, and that several tests were made."),
    ),
    "interval": Explanation(
        _(
            "Percentile bootstrap: the figure over 1,000 random selections of the outputs; 95 % of them lie within the interval."
        ),
        _("Errors that all outputs share, for instance unclear guidelines."),
    ),
    "per_output": Explanation(
        _("Spans marked in an output of the system, on average."), _("How long or how grave they are.")
    ),
    "error_free": Explanation(_("Outputs in which nothing was marked."), _("How much was marked in the others.")),
    "score": Explanation(
        _("Minus the mean weight of an output’s errors, by the severities of the campaign’s definition; 0 is best."),
        _("The category of the errors."),
    ),
    "rankings": Explanation(
        _(
            "Whether two campaigns put the systems in the same order: over pairs of systems (Kendall τ-b), over ranks (Spearman), "
            "over mean scores (Pearson)."
        ),
        _("Single outputs: two campaigns may rank the systems alike and disagree about every text."),
    ),
}
