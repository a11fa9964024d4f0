"""Published figures from published files, with commands only."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("initialised")]


def test_a_model_agrees_with_people_as_published(run: Run, run_json: Callable[..., Any], research_data: Path) -> None:
    data = research_data / "d2t-eval"
    texts = ("--outputs", data / "outputs", "--inputs", data / "inputs")
    people = run_json(
        "campaign", "import", data / "annotations/human/test", "--slug", "ref", "--format", "factgenie", *texts
    )
    assert (people["spans"], people["unplaced_annotations"], people["unreadable_records"]) == (5881, {}, 0)
    run("campaign", "import", data / "annotations/model/test/o3-mini", "--slug", "o3-mini", "--format", "factgenie")
    report = run_json("agreement", "ref", "o3-mini")
    assert report["outputs"] == 1200
    assert (report["reference"]["spans"], report["hypothesis"]["spans"]) == (2981, 1836)
    assert report["char"]["hard"]["precision"] == pytest.approx(0.351, abs=5e-4)
    assert report["char"]["hard"]["recall"] == pytest.approx(0.250, abs=5e-4)
    assert report["char"]["soft"]["precision"] == pytest.approx(0.486, abs=5e-4)
    assert report["char"]["soft"]["recall"] == pytest.approx(0.345, abs=5e-4)
    assert report["gamma"]["hard"] == {"mean": pytest.approx(0.2727, abs=1e-4), "outputs": 646}
    assert report["gamma"]["soft"] == {"mean": pytest.approx(0.2830, abs=1e-4), "outputs": 646}
    assert report["s_empty"]["mean"] == pytest.approx(0.637, abs=5e-4)
    assert report["pearson"]["micro"] == pytest.approx(0.505, abs=5e-4)


def test_the_real_qualification_gives_the_published_number_of_passes(
    run: Run, run_json: Callable[..., Any], research_data: Path
) -> None:
    data = research_data / "d2t-eval"
    exam = data / "annotations/human/qualification"
    texts = ("--outputs", data / "outputs", "--inputs", data / "inputs")
    for part in ("key", "task"):
        run("campaign", "import", exam / f"qualification-{part}", "--slug", part, "--format", "factgenie", *texts)
    report = run_json("qualify", "task", "--reference", "key")
    assert (report["threshold"], report["metric"]) == (0.5, "char.hard.f1")
    assert (report["passed"], report["failed"], len(report["workers"])) == (52, 157, 209)
    assert sum(worker["passed"] for worker in report["workers"]) == 52
    assert [worker["score"] for worker in report["workers"]] == sorted(
        (worker["score"] for worker in report["workers"]), reverse=True
    )
    assert run_json("qualify", "task", "--reference", "key", "--top", "10")["passed"] == 10
    assert run_json("qualify", "task", "--reference", "key", "--soft")["passed"] > 52
    assert "name the campaign with the expected annotations" in run("qualify", "task", status=1).stderr
