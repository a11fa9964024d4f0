"""Submissions that a page may send."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from spanplat.schemas.submission import Submission

SPAN = {"start": 0, "end": 2, "category": "wrong", "text": "It"}


def sent(**parts: Any) -> dict[str, Any]:
    return {"revision": 0, "status": "draft", "spans": [SPAN]} | parts


@pytest.mark.parametrize(
    "parts",
    [
        {"revision": -1},
        {"revision": None},
        {"status": "done"},
        {"spans": [SPAN | {"start": -1}]},
        {"spans": [SPAN | {"side": "left"}]},
        {"spans": [SPAN | {"color": "red"}]},
        {"spans": [SPAN | {"reason": "x" * 5001}]},
        {"spans": [SPAN] * 2001},
        {"seconds": -1},
        {"seconds": 1e9},
        {"extra": 1},
    ],
)
def test_what_has_another_shape_is_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Submission.model_validate(sent(**parts))


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ('{"revision": 0, "status": "draft", "answers": {"why": "a\\u0000b"}}', "a NUL character"),
        ('{"revision": 0, "status": "draft", "answers": {"why": ["\\ud83c"]}}', "half of a surrogate pair"),
        ('{"revision": 0, "status": "draft", "answers": {"fluency": 1e999}}', "the number inf"),
        ('{"revision": 0, "status": "draft", "answers": {"fluency": NaN}}', "the number nan"),
        ('{"revision": 0, "status": "draft", "answers": {"fluency": [1, -Infinity]}}', "the number -inf"),
        (json.dumps(sent(spans=[SPAN | {"reason": "'\"\\\x00"}])), "a NUL character"),
        (json.dumps(sent(spans=[SPAN | {"reason": "\x00"}])), "a NUL character"),
        (json.dumps(sent(spans=[SPAN | {"attributes": {"\x00": 1}}])), "a NUL character"),
    ],
)
def test_what_no_database_takes_is_refused_in_words(body: str, named: str) -> None:
    with pytest.raises(ValidationError, match=f"it holds {named}.*, which cannot be stored"):
        Submission.model_validate(json.loads(body))


def test_what_only_reads_like_something_that_cannot_be_stored_is_taken() -> None:
    reason = r"nan, inf, \x00 and \ud83c are words here"
    assert Submission.model_validate(sent(spans=[SPAN | {"reason": reason}])).spans[0].reason == reason


def test_a_submission_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(ValidationError):
        Submission.model_validate([1, 2])
