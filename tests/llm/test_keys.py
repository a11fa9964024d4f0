"""Keys are hidden in messages of servers that quote them."""

import pytest

from spanplat.llm.keys import HIDDEN, without_keys


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Incorrect API key provided: sk-proj-abc123XYZ.", f"Incorrect API key provided: {HIDDEN}"),
        ("Incorrect API key provided: sk-ab***********cdef", f"Incorrect API key provided: {HIDDEN}"),
        ("got Authorization: Bearer abc", f"got Authorization: {HIDDEN}"),
        ("my very own secret-key-1", "my very own secret-key-1"),
        ("planted-0123 is not known", f"{HIDDEN} is not known"),
        ("Bearer planted-0123 is not known", f"Bearer {HIDDEN} is not known"),
        ("a risky task-force in Key West", "a risky task-force in Key West"),
    ],
)
def test_the_key_and_what_looks_like_one_are_hidden(text: str, hidden: str) -> None:
    assert without_keys(text, "planted-0123", None, "") == hidden


def test_a_placeholder_is_no_secret() -> None:
    assert without_keys("the text is too odd", "x") == "the text is too odd"
