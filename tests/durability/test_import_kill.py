"""An import killed midway shows nothing, and repeating it gives exactly what an undisturbed import gives."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import NotFound
from spanplat.models import Annotation, Assignment, Batch, Campaign, Category, Item, Output, Span, Unplaced
from spanplat.services.campaigns.import_records import ImportReport
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns

OUTPUTS, GROUPS = 150, 3
TABLES = (Campaign, Category, Item, Batch, Assignment, Annotation, Span, Unplaced, Output)
ABOUT_ALL_TRANSACTIONS = 14


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A published campaign: three people annotate 150 texts each; one span names a category that does not exist."""
    campaign, outputs = tmp_path / "campaign", tmp_path / "outputs" / "fir"
    campaign.mkdir()
    outputs.mkdir(parents=True)
    names = {"dataset": "trips", "split": "test", "setup_id": "fir"}
    texts = [f"Day {number}: it rains in the valley, and the pass is closed." for number in range(OUTPUTS)]
    _write(
        outputs / "trips-fir-test.jsonl",
        [names | {"example_idx": number, "output": text} for number, text in enumerate(texts)],
    )
    records = [
        names | {"example_idx": number, "annotator_group": group, "annotations": _spans(number, group)}
        for group in range(GROUPS)
        for number in range(OUTPUTS)
    ]
    _write(campaign / "annotations.jsonl", records)
    (campaign / "config.yaml").write_text(
        "annotation_span_categories:\n"
        "  - {name: Wrong, description: not so, color: '#aa0000'}\n"
        "  - {name: Vague, description: unclear, color: '#0000aa'}\n"
    )
    return tmp_path


def _spans(number: int, group: int) -> list[dict[str, Any]]:
    start = len(f"Day {number}: ")
    spans = [{"type": group % 2, "text": "it rains", "start": start} for _ in range((number + group) % 3)]
    return [*spans, {"type": 9, "text": "pass", "start": start}] if (number, group) == (7, 1) else spans


def _write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def _import(database: Database, study: Path) -> ImportReport:
    return import_campaign(database, study / "campaign", slug="study", format="factgenie", outputs=study / "outputs")


def _counts(database: Database) -> dict[str, int]:
    with database.reading() as session:
        return {table.__tablename__: session.scalars(select(func.count()).select_from(table)).one() for table in TABLES}


def _import_until_killed(url: str, study: Path, transactions: int) -> int:
    program = Path(__file__).with_name("import_until_killed.py")
    command = [sys.executable, str(program), url, str(transactions), str(study / "campaign"), str(study / "outputs")]
    return subprocess.run(command, check=False).returncode


@pytest.fixture
def undisturbed(make_sqlite: Callable[[], str], study: Path) -> dict[str, int]:
    """Rows by table after an import that nothing disturbed."""
    database = Database(make_sqlite())
    _import(database, study)
    counts = _counts(database)
    database.dispose()
    return counts


@pytest.mark.parametrize("transactions", [2, 6, ABOUT_ALL_TRANSACTIONS])
def test_a_killed_import_shows_nothing_and_its_repetition_is_complete(
    database: Database, study: Path, undisturbed: dict[str, int], transactions: int
) -> None:
    assert _import_until_killed(database.url, study, transactions) == -signal.SIGKILL
    with database.reading() as session:
        assert list_campaigns(session) == []
        with pytest.raises(NotFound):
            find_campaign(session, "study")
    report = _import(database, study)
    assert (report.annotations, report.annotators, report.outputs) == (OUTPUTS * GROUPS, GROUPS, OUTPUTS)
    assert _counts(database) == undisturbed
    assert undisturbed["unplaced"] == 1


def test_a_second_import_adds_nothing(database: Database, study: Path, undisturbed: dict[str, int]) -> None:
    _import(database, study)
    assert _import(database, study).already_imported
    assert _counts(database) == undisturbed
