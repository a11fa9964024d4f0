"""A span keeps all its values on its way into the table of spans and back."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spanplat.schemas.span import MarkedSpan, rows_of_spans
from spanplat.schemas.submission import SubmittedSpan

CATEGORIES = {"wrong": 7, "unclear": 9}
texts = st.none() | st.text(max_size=5)
objects = st.none() | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
offsets = st.integers(0, 100)
spans = st.builds(
    MarkedSpan,
    offsets,
    offsets,
    category=st.sampled_from(list(CATEGORIES)),
    text=st.text(max_size=5),
    side=st.sampled_from(["output", "source"]),
    output=st.integers(0, 1),
    field=texts,
    subcategory=texts,
    severity=texts,
    reason=texts,
    attributes=objects,
    origin=objects,
    resolved=st.none() | st.tuples(offsets, offsets),
)


@given(st.lists(spans, max_size=3))
def test_spans_come_back_from_their_rows_as_they_were(marked: list[MarkedSpan]) -> None:
    rows = rows_of_spans(5, marked, CATEGORIES)
    assert [(row["annotation_id"], row["position"]) for row in rows] == [(5, place) for place in range(len(marked))]
    keys = {number: key for key, number in CATEGORIES.items()}
    assert [MarkedSpan.from_row(SimpleNamespace(**row), keys[row["category_id"]]) for row in rows] == marked


@given(spans)
def test_a_quote_that_was_found_elsewhere_stands_where_it_was_found(span: MarkedSpan) -> None:
    assert span.place == (span.resolved if span.resolved is not None else (span.start, span.end))


@given(spans, objects)
def test_a_submitted_span_says_the_same_once_it_is_stored(span: MarkedSpan, origin: dict[str, Any] | None) -> None:
    marked = SubmittedSpan.model_validate(span.stated()).marked(origin)
    assert marked.stated() == span.stated()
    assert (marked.origin, marked.resolved) == (origin, None)
