"""Agreement between span annotations, on plain arrays: nothing here knows campaigns, databases or the web.

>>> from spanplat.metrics import Comparison, char, gamma
>>> pair = Comparison.of(reference=[[(285, 427, 0)]], hypothesis=[[(321, 427, 0)]], categories=["wrong"])
>>> char(pair).precision, round(gamma(pair).mean, 2)
(1.0, 0.98)
"""

from spanplat.metrics.best_match import best_match, span_average
from spanplat.metrics.categorial import gamma_cat
from spanplat.metrics.characters import char, char_binary, char_f1
from spanplat.metrics.confusion import confusion
from spanplat.metrics.count_correlation import count_correlation
from spanplat.metrics.matched import exact, partial, partial_credit
from spanplat.metrics.mathet import GammaOptions, gamma, gamma_of_annotators, s_empty
from spanplat.metrics.ratings import aggregate, cohen_kappa, judge_correlation, krippendorff_alpha, rating_correlation
from spanplat.metrics.registry import MEASURES, Measure, measure_named
from spanplat.metrics.report import agreement_report, gamma_report
from spanplat.metrics.resampling import bootstrap, permutation_test, rank_clusters
from spanplat.metrics.result import Result
from spanplat.metrics.spans import Comparison, Span, SpanSet
from spanplat.metrics.statistics import Statistics, statistics

__all__ = [
    "MEASURES",
    "Comparison",
    "GammaOptions",
    "Measure",
    "Result",
    "Span",
    "SpanSet",
    "Statistics",
    "aggregate",
    "agreement_report",
    "best_match",
    "bootstrap",
    "char",
    "char_binary",
    "char_f1",
    "cohen_kappa",
    "confusion",
    "count_correlation",
    "exact",
    "gamma",
    "gamma_cat",
    "gamma_of_annotators",
    "gamma_report",
    "judge_correlation",
    "krippendorff_alpha",
    "measure_named",
    "partial",
    "partial_credit",
    "permutation_test",
    "rank_clusters",
    "rating_correlation",
    "s_empty",
    "span_average",
    "statistics",
]
