"""One rule says what every database can store: values that pass it are stored and read back, replacements pass it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from spanplat.text.storable import DEEPEST, find_unstorable, make_storable, make_storable_text, without_unstorable

characters = st.text(st.characters() | st.sampled_from("\x00\ud800\udfff"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | characters,
    lambda inner: st.lists(inner) | st.dictionaries(characters, inner),
)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a\x00b", "a NUL character"),
        (["fine", {"key": "\ud83d"}], "half of a surrogate pair (U+D83D)"),
        ({"\x00": 1}, "a NUL character"),
        ({"scores": [1.5, math.nan]}, "the number nan"),
        ({"emoji": "👩‍👩‍👧", "number": 1.5, "nothing": None}, None),
    ],
)
def test_what_cannot_be_stored_is_named(value: Any, problem: str | None) -> None:
    assert find_unstorable(value) == problem


@given(values)
def test_the_replacement_of_any_value_can_be_stored(value: Any) -> None:
    replaced = make_storable(value)
    assert find_unstorable(replaced) is None
    json.dumps(replaced, allow_nan=False).encode("utf-8")


@given(characters)
def test_text_that_can_be_stored_is_left_as_it_is(raw: str) -> None:
    if find_unstorable(raw) is None:
        assert make_storable_text(raw) == without_unstorable(raw) == raw
    assert find_unstorable(without_unstorable(raw)) is None
    assert len(make_storable_text(raw)) == len(raw)


def test_a_value_nested_too_deeply_to_recurse_is_looked_at_and_cut_off() -> None:
    value: Any = "a\x00b"
    for _ in range(100_000):
        value = [value]
    assert find_unstorable(value) == "a NUL character"
    assert json.dumps(make_storable(value), ensure_ascii=False).count("[") == DEEPEST


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20))
def test_postgresql_returns_what_the_rule_lets_pass(postgresql_server: Engine, raw: str) -> None:
    assert find_unstorable(raw) is None
    with postgresql_server.connect() as connection:
        assert connection.execute(text("SELECT CAST(:raw AS text)"), {"raw": raw}).scalar_one() == raw
