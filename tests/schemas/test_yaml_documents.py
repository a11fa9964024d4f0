"""YAML documents: what is written is read again, as YAML 1.2 has it."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.schemas.yaml_documents import dump, load

CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    "\n\r\t \u0085\u2028\ufeff:#-'\"|>&*!%@`[]{},?" + string.ascii_letters
)
TEXTS = st.text(CHARACTERS) | st.sampled_from(
    ["yes", "No", "on", "12:30", "010", "1e3", "0x1F", "null", "~", "<<", "=", "2024-01-02"]
)
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_values_come_back_as_they_were_written(value: object) -> None:
    assert load(dump(value)) == value


def test_text_of_several_lines_is_written_as_a_block() -> None:
    assert dump({"guidelines": "# Task\n\nMark every error.\n"}) == "guidelines: |\n  # Task\n\n  Mark every error.\n"


def test_keys_keep_their_order_and_long_lines_stay_whole() -> None:
    assert dump({"title": "word " * 100 + "end", "slug": "a"}) == f"title: {'word ' * 100}end\nslug: a\n"


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "12:30"])
def test_words_that_older_programs_take_for_other_values_are_read_as_text_and_quoted(word: str) -> None:
    assert load(f"key: {word}") == {"key": word}
    assert dump({"key": word}) == f"key: '{word}'\n"


def test_files_of_older_programs_are_read_as_they_meant_them() -> None:
    assert load("key: yes", version=(1, 1)) == {"key": True}
