"""Measures of agreement between span annotations, on plain arrays. They do not depend on campaigns, databases or the web.

>>> from spanplat.metrics import Comparison, char, gamma
>>> pair = Comparison.of(reference=[[(285, 427, 0)]], hypothesis=[[(321, 427, 0)]], categories=["wrong"])
>>> char(pair).precision, round(gamma(pair).mean, 2)
(1.0, 0.98)
"""

from spanplat.metrics.best_match import best_match, span_average
from spanplat.metrics.categorial import gamma_cat, gamma_cat_of_annotators
from spanplat.metrics.characters import char, char_binary, char_f1
from spanplat.metrics.choices import BestWorst, Choice, best_worst_scores, majority_votes, win_rates
from spanplat.metrics.confusion import confusion
from spanplat.metrics.count_correlation import count_correlation
from spanplat.metrics.disagreement import ClusterType, cluster_spans
from spanplat.metrics.false_positives import false_positives, perfect_outputs
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.joint_report import gamma_report
from spanplat.metrics.matched import exact, partial, partial_credit
from spanplat.metrics.mathet import gamma, gamma_of_annotators, s_empty
from spanplat.metrics.measure import Measure, PrecisionRecall
from spanplat.metrics.ratings import aggregate, cohen_kappa, judge_correlation, krippendorff_alpha, rating_correlation
from spanplat.metrics.registry import MEASURES, PRECISION_RECALL, RANKING_MEASURES, measure_named
from spanplat.metrics.report import agreement_report
from spanplat.metrics.resampling import bootstrap, permutation_test, rank_clusters
from spanplat.metrics.result import Result
from spanplat.metrics.sentinels import imprecise, low_recall, remove_one
from spanplat.metrics.spans import Comparison, Span, SpanSet
from spanplat.metrics.statistics import Statistics, statistics
from spanplat.metrics.systems import ErrorWeights, system_ranking_agreement, system_report

__all__ = [
    "MEASURES",
    "PRECISION_RECALL",
    "RANKING_MEASURES",
    "BestWorst",
    "Choice",
    "ClusterType",
    "Comparison",
    "ErrorWeights",
    "GammaOptions",
    "Measure",
    "PrecisionRecall",
    "Result",
    "Span",
    "SpanSet",
    "Statistics",
    "aggregate",
    "agreement_report",
    "best_match",
    "best_worst_scores",
    "bootstrap",
    "char",
    "char_binary",
    "char_f1",
    "cluster_spans",
    "cohen_kappa",
    "confusion",
    "count_correlation",
    "exact",
    "false_positives",
    "gamma",
    "gamma_cat",
    "gamma_cat_of_annotators",
    "gamma_of_annotators",
    "gamma_report",
    "imprecise",
    "judge_correlation",
    "krippendorff_alpha",
    "low_recall",
    "majority_votes",
    "measure_named",
    "partial",
    "partial_credit",
    "perfect_outputs",
    "permutation_test",
    "rank_clusters",
    "rating_correlation",
    "remove_one",
    "s_empty",
    "span_average",
    "statistics",
    "system_ranking_agreement",
    "system_report",
    "win_rates",
]
