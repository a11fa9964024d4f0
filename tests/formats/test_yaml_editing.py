"""YAML that a draft refuses before it can crash the parser or exhaust the memory."""

import pytest

from spanplat.errors import InvalidInput
from spanplat.formats.yaml_editing import YamlText

DOUBLING = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: " + "[" * 5_000, "nested more than 50 deep"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 50 deep"),
        ("a:\n" + "".join(" " * (depth + 1) + "b:\n" for depth in range(60)), "nested more than 50 deep"),
        (DOUBLING, "more than 200,000 values"),
        ("a: " + "x" * 2_000_000, "has 2,000,003 characters; at most 2,000,000 are accepted"),
    ],
    ids=["unclosed", "lists", "mappings", "doubling", "long"],
)
def test_what_grows_without_end_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        YamlText(text)


def test_what_is_nested_as_deep_as_a_definition_may_be_is_taken() -> None:
    text = YamlText("a: " + "[" * 48 + "]" * 48)
    text.set(("b",), 1)
    assert YamlText(text.dump()).content["b"] == 1
