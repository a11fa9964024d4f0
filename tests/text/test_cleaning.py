"""What import changes in a text, and what it refuses."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.errors import InvalidInput
from spanplat.text import clean_text, sha256_of

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


def test_only_carriage_return_with_line_feed_changes() -> None:
    assert clean_text("a\r\nb\rc\nd\r\r\n e\u00a0\ufeff ") == "a\nb\rc\nd\r\n e\u00a0\ufeff "


def test_normalisation_form_is_kept() -> None:
    decomposed = "e\u0301"
    assert clean_text(decomposed) == decomposed


@given(storable)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == "\n".join(text.split("\r\n"))


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ("ab\ncd\x00", r"a NUL character at position 5 \(line 2\)"),
        ("x\ud83d", r"half of a surrogate pair \(U\+D83D\) at position 1 \(line 1\)"),
        ("\udc00\x00", r"half of a surrogate pair \(U\+DC00\) at position 0"),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_position(raw: str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        clean_text(raw)


def test_hash_is_over_utf8_bytes() -> None:
    assert sha256_of("naïve 😀") == hashlib.sha256("naïve 😀".encode()).hexdigest()


def test_a_megabyte_is_cleaned() -> None:
    assert clean_text("ü😀\r\n" * 250_000) == "ü😀\n" * 250_000
