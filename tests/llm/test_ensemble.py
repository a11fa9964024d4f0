"""The errors of several annotators are merged into one list."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spanplat.llm.ensemble import is_same_issue, merge_errors
from spanplat.schemas.span import MarkedSpan

SCALE = ("minor", "major", "critical")


def span(start: int, end: int, category: str = "wrong", **more: Any) -> MarkedSpan:
    return MarkedSpan(start, end, category, "x" * (end - start), **more)


def error(annotator: int, start: int, end: int, category: str = "wrong", **more: Any) -> tuple[int, MarkedSpan]:
    return annotator, span(start, end, category, **more)


def test_the_same_issue_at_overlapping_places_is_one_error() -> None:
    found = merge_errors(
        [
            error(0, 10, 20, severity="minor", reason="too early"),
            error(1, 12, 22, severity="critical", reason="The time is wrong."),
            error(2, 12, 20, severity="major", reason="too early"),
        ],
        severities=SCALE,
    )
    (one,) = found
    assert (one.start, one.end, one.severity, one.annotators) == (12, 20, "critical", (0, 1, 2))
    assert one.reason == "too early\nThe time is wrong."


def test_the_same_issue_elsewhere_and_another_at_the_same_place_stay_separate() -> None:
    found = merge_errors([error(0, 0, 5), error(1, 40, 45), error(1, 0, 5, "unclear")])
    assert sorted((one.start, one.category) for one in found) == [(0, "unclear"), (0, "wrong"), (40, "wrong")]


def test_passages_that_hardly_touch_are_two_issues() -> None:
    assert not is_same_issue(span(0, 10), span(8, 18))
    assert is_same_issue(span(0, 10), span(5, 15))
    assert is_same_issue(span(0, 10), span(8, 18), least_overlap=0.2)


def test_sides_and_texts_are_kept_apart() -> None:
    assert not is_same_issue(span(0, 10), span(0, 10, side="source", field="a"))
    assert not is_same_issue(span(0, 10), span(0, 10, output=1))


def test_at_most_eight_are_kept_and_the_most_severe_come_first() -> None:
    many = [error(0, 10 * place, 10 * place + 5, severity=SCALE[place % 3]) for place in range(12)]
    found = merge_errors(many, severities=SCALE)
    assert [one.severity for one in found] == ["critical"] * 4 + ["major"] * 4
    assert [one.start for one in found[:4]] == [20, 50, 80, 110]


def test_severities_may_be_numbers_and_of_equals_more_votes_come_first() -> None:
    found = merge_errors(
        [
            error(0, 0, 5, severity="2"),
            error(0, 20, 25, severity="10"),
            error(0, 40, 45),
            error(1, 60, 65),
            error(2, 60, 65),
        ]
    )
    assert [(one.start, one.severity) for one in found] == [(20, "10"), (0, "2"), (60, None), (40, None)]


def test_issues_that_too_few_found_are_left_out() -> None:
    errors = [error(0, 0, 5), error(0, 1, 5), error(1, 20, 25), error(2, 20, 25)]
    assert [one.annotators for one in merge_errors(errors, least_votes=2)] == [(1, 2)]


errors = st.lists(
    st.builds(
        lambda annotator, start, length, category: error(annotator, start, start + length, category),
        st.integers(0, 4),
        st.integers(0, 40),
        st.integers(0, 20),
        st.sampled_from(["wrong", "unclear"]),
    ),
    max_size=12,
)


@given(errors, st.randoms(use_true_random=False))
def test_merging_neither_invents_nor_forgets(marked: list[tuple[int, MarkedSpan]], random: Any) -> None:
    found = merge_errors(marked, most=100)
    shuffled = list(marked)
    random.shuffle(shuffled)
    assert merge_errors(shuffled, most=100) == found
    for one in found:
        mine = [source for who, source in marked if source.category == one.category and who in one.annotators]
        assert min(source.start for source in mine) <= one.start <= one.end <= max(source.end for source in mine)
    for annotator, source in marked:
        assert any(
            one.category == source.category
            and annotator in one.annotators
            and one.start <= source.end
            and source.start <= one.end
            for one in found
        )
