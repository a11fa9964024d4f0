"""Agreement between span annotations, on plain arrays: nothing here knows campaigns, databases or the web.

>>> from spanplat.metrics import Comparison, char, gamma
>>> pair = Comparison.of(reference=[[(0, 9, 0)]], hypothesis=[[(0, 3, 0)]], categories=["wrong"])
>>> char(pair).precision, round(gamma(pair).mean, 2)
(1.0, 0.71)
"""

from spanplat.metrics.characters import char, char_binary, char_f1
from spanplat.metrics.count_correlation import count_correlation
from spanplat.metrics.mathet import gamma, s_empty
from spanplat.metrics.result import Result
from spanplat.metrics.spans import Comparison, Span, SpanSet
from spanplat.metrics.statistics import Statistics, statistics

__all__ = [
    "Comparison",
    "Result",
    "Span",
    "SpanSet",
    "Statistics",
    "char",
    "char_binary",
    "char_f1",
    "count_correlation",
    "gamma",
    "s_empty",
    "statistics",
]
