"""Explanations of columns that are not measures. Explanations of measures are in `spanplat.metrics`."""

from collections.abc import Mapping

from flask_babel import lazy_gettext as _

from spanplat.metrics.measure import Explanation

EXPLANATIONS: Mapping[str, Explanation] = {
    "compared": Explanation(
        _(
            "Outputs that both sides completed; only these enter the figures. An output that a side completed without any span counts "
            "as “nothing to mark”; one it never completed is absent."
        ),
        _("Outputs that only one side completed; their numbers stand here so that nothing is hidden."),
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
