"""Training data from a campaign's page."""

import io
import json
import zipfile
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.services.model_work.training import training_examples

PAGE = "/admin/campaigns/demo-sample-a"


def test_the_page_offers_what_the_service_makes_as_an_archive_of_three_files(viewer: Any, demo: Database) -> None:
    assert "Download the training data" in viewer.get(f"{PAGE}/export").text
    answer = viewer.get(f"{PAGE}/training.zip?train=2&validation=1&test=1&seed=7")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="demo-sample-a-training.zip"'
    with demo.reading() as session:
        examples = training_examples(session, "demo-sample-a", shares=(2, 1, 1), seed=7)
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        assert archive.namelist() == ["train.jsonl", "validation.jsonl", "test.jsonl"]
        for name in archive.namelist():
            lines = archive.read(name).decode().splitlines()
            part = name.removesuffix(".jsonl")
            assert len(lines) == sum(example.part == part for example in examples) > 0
            assert [turn["role"] for turn in json.loads(lines[0])["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("query", "why"),
    [("train=0&validation=0&test=0", "at least one is above 0"), ("train=-1", "greater than or equal to 0")],
)
def test_shares_that_are_none_are_refused_with_the_reason(viewer: Any, query: str, why: str) -> None:
    answer = viewer.get(f"{PAGE}/training.zip?{query}")
    assert answer.status_code == 422
    assert why in answer.text


def test_a_campaign_without_a_finished_annotation_says_so(viewer: Any) -> None:
    answer = viewer.get("/admin/campaigns/demo-people/training.zip")
    assert answer.status_code == 422
    assert "no finished annotation" in answer.text
