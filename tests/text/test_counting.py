"""Numbers with the thing that they count."""

import pytest

from spanplat.text.counting import count_of


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "annotator", "1 annotator"),
        (1.0, "annotator", "1 annotator"),
        (1.5, "annotator", "1.5 annotators"),
        (0, "batch", "0 batches"),
        (2000, "person", "2,000 people"),
    ],
)
def test_one_thing_is_not_told_as_several(number: float, noun: str, words: str) -> None:
    assert count_of(number, noun) == words
