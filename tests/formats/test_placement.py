"""Placement of received spans: the position, the rule, and the reported difference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.formats.placement import ResolvedPlace, resolve_span
from spanplat.text import NotLocated

FAR = "x" * 100
FAR_AWAY = NotLocated("the span's text is not at its offset and occurs in several places, none of them near")


@pytest.mark.parametrize(
    ("text", "quote", "start", "expected"),
    [
        ("The Cat sat", "Cat", 4, ResolvedPlace(4, 7, "at-offset")),
        ("The Cat sat", "cat", 4, ResolvedPlace(4, 7, "at-offset", ("case",))),
        ("The  Cat sat", "The Cat", 0, ResolvedPlace(0, 8, "at-offset", ("space",))),
        ("The\nCat sat", "the cat", 0, ResolvedPlace(0, 7, "at-offset", ("case", "space"))),
        ("😀😀 Cat sat", "Cat", 5, ResolvedPlace(3, 6, "at-utf16-offset", ("offset",))),
        ("İlk Cat cat", "cat", 9, ResolvedPlace(8, 11, "at-lower-case-offset", ("offset",))),
        ("İstanbul", "i\u0307stanbul", 0, ResolvedPlace(0, 8, "at-offset", ("case",))),
        ("The Cat sat", "Cat", 9, ResolvedPlace(4, 7, "only-place", ("offset",))),
        ("The Cat sat", "Cat", None, ResolvedPlace(4, 7, "only-place", ("offset",))),
        ("The Cat sat", "Cat", -1, ResolvedPlace(4, 7, "only-place", ("offset",))),
        ("The Cat sat", "Cat", 999, ResolvedPlace(4, 7, "only-place", ("offset",))),
        ("The Cat sat", " cat", 2, ResolvedPlace(3, 7, "only-place", ("offset", "case"))),
        (f"a cat {FAR} a cat", "cat", 4, ResolvedPlace(2, 5, "nearby", ("offset",))),
        (f"a cat {FAR} a cat", "cat", 60, FAR_AWAY),
        ("a cat, a cat", "cat", None, NotLocated("the span's text occurs in several places, and nothing says which one is meant")),
        ("a cat", "dog", 2, NotLocated("the span's text does not occur in the text")),
        ("a cat", "", 2, NotLocated("the span's text is empty")),
        ("a  cat", "  ", 1, ResolvedPlace(1, 3, "at-offset")),
        ("a cat", "  ", 1, NotLocated("the span's text is empty")),
    ],
)  # fmt: skip
def test_placement(text: str, quote: str, start: int | None, expected: ResolvedPlace | NotLocated) -> None:
    assert resolve_span(text, quote, start) == expected


@given(st.text(st.sampled_from("aB ßİ\n😀é"), min_size=1, max_size=30), st.data())
def test_a_span_cut_from_the_text_is_placed_where_it_was(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assert resolve_span(text, text[start:end], start) == ResolvedPlace(start, end, "at-offset")


@given(
    st.text(st.sampled_from("aB ßİ\n😀é"), max_size=30),
    st.text(st.sampled_from("aAbBSi\u0307 \n😀"), max_size=6),
    st.integers(-3, 40),
)
def test_what_is_placed_is_described_truly(text: str, quote: str, start: int) -> None:
    placed = resolve_span(text, quote, start)
    if isinstance(placed, ResolvedPlace):
        passage = text[placed.start : placed.end]
        assert ("offset" in placed.differences) == (placed.start != start)
        if "space" not in placed.differences:
            assert passage.casefold() == quote.casefold()
            assert passage == quote or "case" in placed.differences
        assert "".join(passage.split()).casefold() == "".join(quote.split()).casefold()
