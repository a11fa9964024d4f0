"""Clusters of overlapping spans, and their types."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanplat.metrics import Comparison, Span
from spanplat.metrics.disagreement import TYPES, Clusters, ClusterType, cluster_spans

Spans = list[tuple[int, ...]]
CATEGORIES = ["a", "b", "c"]

SWAPPED = {ClusterType.MISSING: ClusterType.EXTRA, ClusterType.EXTRA: ClusterType.MISSING}


@st.composite
def spans(draw: st.DrawFn) -> Span:
    start = draw(st.integers(0, 30))
    return Span(
        start,
        start + draw(st.integers(0, 8)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 2)),
        draw(st.integers(0, 1)),
    )


sides = st.lists(st.lists(spans(), max_size=6), min_size=3, max_size=3)


def types_of(reference: Spans, hypothesis: Spans) -> list[str]:
    clusters = cluster_spans(Comparison.of([reference], [hypothesis], CATEGORIES))
    return [str(kind) for kind in clusters.types]


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ([(0, 5, 0)], [(0, 5, 0)], ["agreement"]),
        ([(0, 5, 0)], [], ["missing"]),
        ([], [(0, 5, 0)], ["extra"]),
        ([(0, 5, 0)], [(5, 9, 0)], ["missing", "extra"]),
        ([(0, 5, 0)], [(2, 9, 0)], ["boundary"]),
        ([(0, 5, 0)], [(0, 5, 1)], ["category"]),
        ([(0, 5, 0)], [(2, 9, 1)], ["category"]),
        ([(0, 5, 0, 1)], [(0, 5, 0, 2)], ["severity"]),
        ([(0, 5, 0, 1)], [(2, 5, 0, 2)], ["boundary"]),
        ([(0, 9, 0)], [(0, 4, 0), (5, 9, 0)], ["split_merge"]),
        ([(0, 4, 0), (5, 9, 0)], [(0, 9, 0)], ["split_merge"]),
        ([(0, 10, 0), (12, 20, 0)], [(0, 13, 0), (15, 20, 0)], ["boundary"]),
        ([(0, 9, 0), (3, 5, 1)], [(0, 9, 1), (3, 5, 0)], ["category"]),
        ([(4, 4, 0)], [(4, 4, 1)], ["category"]),
        ([(4, 4, 0)], [(0, 9, 0)], ["extra", "missing"]),
        ([(0, 5, 0, 0, 0)], [(0, 5, 0, 0, 1)], ["missing", "extra"]),
    ],
)
def test_type_of_a_cluster(reference: Spans, hypothesis: Spans, expected: list[str]) -> None:
    assert types_of(reference, hypothesis) == expected


def test_a_span_marked_alike_is_an_agreement_whatever_lies_around_it() -> None:
    assert types_of([(0, 100, 0), (10, 20, 1)], [(10, 20, 1)]) == ["missing", "agreement"]


def test_of_two_equal_spans_one_partner_answers_one() -> None:
    assert types_of([(0, 5, 0), (0, 5, 0)], [(0, 5, 0)]) == ["agreement", "missing"]


def test_severities_count_only_where_both_sides_give_some() -> None:
    assert types_of([(0, 5, 0, 2)], [(0, 5, 0)]) == ["agreement"]
    assert types_of([(0, 5, 0, 2), (9, 12, 0, 1)], [(0, 5, 0), (9, 12, 0, 1)]) == ["severity", "agreement"]


def test_without_spans_there_are_no_clusters() -> None:
    clusters = cluster_spans(Comparison.of([[], []], [[], []], CATEGORIES))

    assert len(clusters) == 0
    assert clusters.counts.tolist() == [[0] * len(TYPES)] * 2


def test_counts_stand_by_output_and_type() -> None:
    pair = Comparison.of([[(0, 5, 0), (9, 12, 0)], []], [[(0, 5, 0)], [(1, 2, 0)]], CATEGORIES)
    counts = cluster_spans(pair).counts

    named = [{str(TYPES[code]): n for code, n in enumerate(row) if n} for row in counts.tolist()]
    assert named == [{"agreement": 1, "missing": 1}, {"extra": 1}]


@settings(deadline=None)
@given(sides, sides)
def test_every_span_stands_in_exactly_one_cluster_of_its_output(
    reference: list[Spans], hypothesis: list[Spans]
) -> None:
    pair = Comparison.of(reference, hypothesis, CATEGORIES)
    clusters = cluster_spans(pair)

    assert (len(clusters.reference), len(clusters.hypothesis)) == (pair.reference.n_spans, pair.hypothesis.n_spans)
    assert clusters.output[clusters.reference].tolist() == pair.reference.output.tolist()
    assert clusters.output[clusters.hypothesis].tolist() == pair.hypothesis.output.tolist()
    assert {*clusters.reference.tolist(), *clusters.hypothesis.tolist()} == set(range(len(clusters)))
    assert clusters.counts.sum() == len(clusters)


@settings(deadline=None)
@given(sides)
def test_identical_sides_agree_everywhere(side: list[Spans]) -> None:
    clusters = cluster_spans(Comparison.of(side, [spans[::-1] for spans in side], CATEGORIES))

    assert set(clusters.types) <= {ClusterType.AGREEMENT}
    assert len(clusters) == sum(map(len, side))


@settings(deadline=None)
@given(sides, sides)
def test_swapping_the_sides_swaps_missing_and_extra(reference: list[Spans], hypothesis: list[Spans]) -> None:
    pair = Comparison.of(reference, hypothesis, CATEGORIES)
    there, back = cluster_spans(pair), cluster_spans(pair.swap())

    def listed(clusters: Clusters, kinds: list[ClusterType]) -> Counter[tuple[int, ClusterType]]:
        return Counter(zip(clusters.output.tolist(), kinds, strict=True))

    assert listed(there, there.types) == listed(back, [SWAPPED.get(kind, kind) for kind in back.types])


@settings(deadline=None)
@given(sides, sides)
def test_a_cluster_has_spans_of_the_sides_its_type_names(reference: list[Spans], hypothesis: list[Spans]) -> None:
    clusters = cluster_spans(Comparison.of(reference, hypothesis, CATEGORIES))
    in_reference = Counter(clusters.reference.tolist())
    in_hypothesis = Counter(clusters.hypothesis.tolist())

    for number, kind in enumerate(clusters.types):
        left, right = in_reference[number], in_hypothesis[number]
        match kind:
            case ClusterType.MISSING:
                assert (left, right) == (1, 0)
            case ClusterType.EXTRA:
                assert (left, right) == (0, 1)
            case ClusterType.AGREEMENT:
                assert (left, right) == (1, 1)
            case ClusterType.SPLIT_MERGE:
                assert 0 < left != right > 0
            case _:
                assert left == right > 0
