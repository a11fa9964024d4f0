"""Imports of published data reproduce the published figures."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.db.schema import initialise
from spanplat.errors import InvalidInput
from spanplat.models import Annotation, Span, Unplaced
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.statistics import campaign_statistics
from spanplat.services.campaigns.import_records import ImportReport
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import list_campaigns
from spanplat.services.datasets.importing import import_dataset

pytestmark = pytest.mark.data

PEOPLE = "human/test"
MODELS = ("o3-mini", "gpt4o", "llama3-3")
PROMPTS = ("zeroshot-llama3-3", "noreason-llama3-3", "5shot-llama3-3", "cot-deepseek-r1")
CAMPAIGNS = (
    PEOPLE,
    "human/dev",
    "human/iaa",
    "human/qualification/qualification-key",
    *(f"model/test/{model}" for model in MODELS),
    *(f"model/dev/{prompt}" for prompt in PROMPTS),
)

Reports = dict[str, ImportReport]


def slug_of(folder: str) -> str:
    return folder.replace("/", "-")


@pytest.fixture(scope="session")
def published(
    research_data: Path, tmp_path_factory: pytest.TempPathFactory, sqlite_template: bytes
) -> tuple[Database, Reports]:
    """All published campaigns in one database, imported once for all tests of this file, which only read them."""
    path = tmp_path_factory.mktemp("published") / "published.sqlite3"
    path.write_bytes(sqlite_template)
    database = Database(f"sqlite:///{path}")
    initialise(database)
    data = research_data / "d2t-eval"
    import_dataset(database, [data / "inputs", data / "outputs"])
    reports = {
        folder: import_campaign(database, data / "annotations" / folder, slug=slug_of(folder), format="factgenie")
        for folder in CAMPAIGNS
    }
    return database, reports


@pytest.fixture(scope="session")
def agreement(published: tuple[Database, Reports]) -> Callable[..., dict[str, Any]]:
    """Compare two published campaigns by their folders."""

    def compare(reference: str, hypothesis: str, **options: Any) -> dict[str, Any]:
        return compute_agreement(
            published[0], slug_of(reference), slug_of(hypothesis), AgreementOptions(**options)
        ).as_json()

    return compare


@pytest.mark.parametrize("folder", CAMPAIGNS)
def test_every_line_and_every_span_of_a_file_is_accounted_for(
    published: tuple[Database, Reports], research_data: Path, folder: str
) -> None:
    database, reports = published
    lines = (research_data / "d2t-eval" / "annotations" / folder / "annotations.jsonl").read_text("utf-8").splitlines()
    report = reports[folder]
    kept_apart = sum(report.unplaced_annotations.values())

    assert report.annotations + kept_apart + report.unreadable_records == len(lines)
    received = sum(len(json.loads(line)["annotations"]) for line in lines)
    assert report.spans + sum(report.unplaced_spans.values()) == received
    with database.reading() as session:
        campaign = next(entry for entry in list_campaigns(session) if entry.slug == slug_of(folder))
        stored = session.scalar(
            select(func.count(Span.id)).join(Annotation).where(Annotation.assignment.has(campaign_id=campaign.id))
        )
    assert stored == report.spans


@pytest.mark.parametrize(
    ("folder", "counts"),
    [
        (PEOPLE, (2151, 5881, 67, 1207, 7)),
        ("human/iaa", (341, 1276, 29, 12, 0)),
        ("human/dev", (84, 238, 1, 84, 0)),
        ("model/test/o3-mini", (1200, 1836, 1, 1200, 0)),
        ("model/test/gpt4o", (1200, 2284, 1, 1200, 0)),
        ("model/test/llama3-3", (1200, 3214, 1, 1200, 0)),
    ],
)
def test_a_report_counts_what_was_imported(
    published: tuple[Database, Reports], folder: str, counts: tuple[int, ...]
) -> None:
    report = published[1][folder]
    counted = (report.annotations, report.spans, report.annotators, report.outputs, report.repeats)
    assert counted == counts


@pytest.mark.parametrize(
    ("folder", "differences"),
    [
        (PEOPLE, {}),
        ("model/test/o3-mini", {"case": 22, "offset": 1}),
        ("model/test/gpt4o", {"case": 6, "offset": 1}),
        ("model/test/llama3-3", {"case": 14, "offset": 4}),
        ("human/qualification/qualification-key", {"offset": 1}),
    ],
)
def test_a_report_counts_spans_that_differ_from_their_text(
    published: tuple[Database, Reports], folder: str, differences: dict[str, int]
) -> None:
    assert dict(published[1][folder].differences) == differences


def test_resolved_offsets_stand_beside_those_received(published: tuple[Database, Reports]) -> None:
    with published[0].reading() as session:
        moved = session.scalars(select(Span).where(Span.resolved_start.is_not(None))).all()
        texts = {span.id: span.annotation.item.outputs[0].output.text for span in moved}
        assert len(moved) >= 7
        for span in moved:
            quote = texts[span.id][span.resolved_start : span.resolved_end]
            assert quote.casefold() == span.text.casefold()
            assert span.end_offset == span.start_offset + len(span.text)
            assert span.origin is not None
            assert span.origin["differs_in"]


def test_statistics_of_the_people(published: tuple[Database, Reports]) -> None:
    with published[0].reading() as session:
        figures = campaign_statistics(session, slug_of(PEOPLE), rule="first", filters=Filters(splits=("test",)))
    assert (figures.annotations, figures.spans) == (1200, 2981)
    shown = f"{figures.spans_per_annotation:.2f} {figures.empty_percent:.1f} {figures.chars_per_span:.1f}"
    assert shown == "2.48 28.8 50.3"


# spans, per output, empty %, characters per span, rho, char P/R hard, soft, gamma hard, soft, S-empty, outputs with gamma
TABLE = {
    "o3-mini": (1836, "1.53 35.6 58.0", "0.505", "0.351/0.250", "0.486/0.345", "0.2727 0.2830", "0.637", 646),
    "gpt4o": (2284, "1.90 4.8 66.3", "0.346", "0.178/0.180", "0.298/0.301", "0.1298 0.1358", "0.429", 826),
    "llama3-3": (3214, "2.68 7.4 65.5", "0.307", "0.131/0.184", "0.272/0.382", "0.1089 0.1139", "0.418", 817),
}


@pytest.mark.parametrize("model", MODELS)
def test_published_figures_of_models_against_people(
    published: tuple[Database, Reports], agreement: Callable[..., dict[str, Any]], model: str
) -> None:
    spans, described, rho, hard, soft, gamma, silent, with_gamma = TABLE[model]
    with published[0].reading() as session:
        own = campaign_statistics(session, f"model-test-{model}")
    report = agreement(PEOPLE, f"model/test/{model}")

    assert (report["outputs"], report["reference"]["spans"], report["hypothesis"]["spans"]) == (1200, 2981, spans)
    assert f"{own.spans_per_annotation:.2f} {own.empty_percent:.1f} {own.chars_per_span:.1f}" == described
    assert f"{report['pearson']['micro']:.3f}" == rho
    for variant, expected in (("hard", hard), ("soft", soft)):
        assert f"{report['char'][variant]['precision']:.3f}/{report['char'][variant]['recall']:.3f}" == expected
    assert f"{report['gamma']['hard']['mean']:.4f} {report['gamma']['soft']['mean']:.4f}" == gamma
    assert report["gamma"]["hard"]["outputs"] == with_gamma
    assert f"{report['s_empty']['mean']:.3f}" == silent
    assert report["s_empty"]["outputs"] == 1200 - with_gamma


GREEDY = {
    "o3-mini": (".0392/.0242", ".6008/.3700", ".4628/.2996"),
    "gpt4o": (".0433/.0332", ".4107/.3147", ".2872/.2687"),
    "llama3-3": (".0249/.0268", ".3777/.4072", ".2733/.3321"),
}


@pytest.mark.parametrize("model", MODELS)
def test_published_figures_of_matched_spans(agreement: Callable[..., dict[str, Any]], model: str) -> None:
    report = agreement(PEOPLE, f"model/test/{model}", matching="greedy", samples=2)
    found = [report[family]["soft"]["micro"] for family in ("exact", "partial", "partial_credit")]
    assert tuple(f"{f['precision']:.4f}/{f['recall']:.4f}".replace("0.", ".") for f in found) == GREEDY[model]


def test_people_against_people(agreement: Callable[..., dict[str, Any]]) -> None:
    report = agreement(
        PEOPLE, PEOPLE, reference_rule="group=0", hypothesis_rule="group=1", filters=Filters(splits=("test",))
    )
    char = report["char"]
    assert report["outputs"] == 475
    assert f"{char['hard']['precision']:.3f}/{char['hard']['recall']:.3f}" == "0.250/0.201"
    assert f"{char['soft']['precision']:.3f}/{char['soft']['recall']:.3f}" == "0.400/0.321"
    assert (f"{report['gamma']['hard']['mean']:.4f}", report["gamma"]["hard"]["outputs"]) == ("0.2532", 229)
    assert (f"{report['s_empty']['mean']:.3f}", report["s_empty"]["outputs"]) == ("0.531", 246)
    assert (report["reference"]["rule"], report["hypothesis"]["rule"]) == ("group=0", "group=1")


def test_people_among_themselves_stand_beside_a_models_figures(agreement: Callable[..., dict[str, Any]]) -> None:
    ceiling = agreement(PEOPLE, "model/test/o3-mini", samples=2)["ceiling"]
    assert ceiling["outputs"] == ceiling["hypothesis"]["outputs"] == 475
    hard = ceiling["char"]["hard"]
    assert f"{hard['precision']:.3f}/{hard['recall']:.3f}" == "0.250/0.201"


def test_agreement_of_all_pairs_of_the_annotators_who_finished(
    sqlite_database: Database, research_data: Path, tmp_path: Path
) -> None:
    published = research_data / "d2t-eval" / "annotations" / "human" / "iaa"
    lines = (published / "annotations.jsonl").read_text("utf-8").splitlines()
    done = Counter(json.loads(line)["annotator_group"] for line in lines)
    shutil.copytree(published, tmp_path / "iaa")
    kept = [line for line in lines if done[json.loads(line)["annotator_group"]] == 12]
    (tmp_path / "iaa" / "annotations.jsonl").write_text("\n".join(kept) + "\n", "utf-8")
    texts = research_data / "d2t-eval" / "outputs"
    report = import_campaign(sqlite_database, tmp_path / "iaa", slug="iaa", format="factgenie", outputs=texts)
    assert (report.annotators, report.annotations) == (28, 28 * 12)

    pairs = AgreementOptions("pairs", "pairs", samples=1, bootstrap=10)
    result = compute_agreement(sqlite_database, "iaa", "iaa", pairs).as_json()
    assert f"{result['char']['hard']['f1']:.3f} {result['char']['soft']['f1']:.3f}" == "0.430 0.565"
    assert result["outputs"] == 12
    assert (result["gamma"]["samples"], result["gamma"]["seed"]) == (1, 42)
    assert result["intervals"] == {}
    assert "means over pairs" in result["undefined"]["intervals"]


@pytest.mark.parametrize(
    ("prompt", "f1", "gamma"),
    list(zip(PROMPTS, ("0.159", "0.189", "0.227", "0.212"), ("0.132", "0.126", "0.175", "0.185"), strict=True)),
)
def test_prompt_study(agreement: Callable[..., dict[str, Any]], prompt: str, f1: str, gamma: str) -> None:
    report = agreement("human/dev", f"model/dev/{prompt}")
    assert (f"{report['char']['hard']['f1']:.3f}", f"{report['gamma']['hard']['mean']:.3f}") == (f1, gamma)


@pytest.fixture
def renamed_copy(research_data: Path, tmp_path: Path) -> Path:
    """The outputs of the development split, with those of one system under a name the annotations do not use."""
    for folder in sorted((research_data / "d2t-eval" / "outputs").iterdir()):
        for file in folder.glob("*-dev.jsonl"):
            system = f"{folder.name}-instruct" if folder.name == "llama3-3" else folder.name
            target = tmp_path / "outputs" / system / file.name.replace(f"-{folder.name}-", f"-{system}-")
            target.parent.mkdir(parents=True, exist_ok=True)
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            target.write_text("".join(json.dumps(row | {"setup_id": system}) + "\n" for row in rows), "utf-8")
    return tmp_path / "outputs"


def test_annotations_of_a_renamed_system_are_kept_apart_and_placed_as_the_report_suggests(
    sqlite_database: Database, research_data: Path, renamed_copy: Path
) -> None:
    folder = research_data / "d2t-eval" / "annotations" / "human" / "dev"
    first = import_campaign(sqlite_database, folder, slug="dev", format="factgenie", outputs=renamed_copy)
    missing = sum(first.unplaced_annotations.values())
    assert (first.annotations, missing) == (63, 21)
    assert first.suggestions == ["--rename-system llama3-3=llama3-3-instruct would place 21 of them"]
    with sqlite_database.reading() as session:
        kept = session.scalars(select(Unplaced)).all()
        assert {entry.kind for entry in kept} == {"annotation"}
        assert all(entry.record["setup_id"].replace(".", "-") == "llama3-3" for entry in kept)
        assert "the dataset has no such output: " in kept[0].reason

    again = import_campaign(sqlite_database, folder, slug="dev", format="factgenie")
    assert again.already_imported
    renames = {"llama3.3": "llama3-3-instruct"}
    placed = import_campaign(sqlite_database, folder, slug="dev", format="factgenie", renames=renames)
    assert (placed.annotations, placed.unplaced_annotations, placed.suggestions) == (84, {}, [])
    with sqlite_database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 84
        assert session.scalar(select(func.count()).select_from(Unplaced)) == 0
    assert import_campaign(sqlite_database, folder, slug="dev", format="factgenie", renames=renames).already_imported


def test_an_import_that_must_find_every_text_imports_nothing_when_one_is_missing(
    sqlite_database: Database, research_data: Path, renamed_copy: Path
) -> None:
    folder = research_data / "d2t-eval" / "annotations" / "human" / "dev"
    with pytest.raises(InvalidInput, match=r"output is missing: .*/dev/.*/llama3-3\. --rename-system llama3-3="):
        import_campaign(
            sqlite_database, folder, slug="dev", format="factgenie", outputs=renamed_copy, missing_text="fail"
        )
    with sqlite_database.reading() as session:
        assert list_campaigns(session) == []
        assert session.scalar(select(func.count()).select_from(Annotation)) == 0


def test_texts_that_were_never_given_are_asked_for(
    sqlite_database: Database, research_data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "dev"
    shutil.copytree(research_data / "d2t-eval" / "annotations" / "human" / "dev", folder)
    report = import_campaign(sqlite_database, folder, slug="dev", format="factgenie")
    assert report.annotations == 0
    assert sum(report.unplaced_annotations.values()) == 84
    assert all("name their folder with --outputs" in suggestion for suggestion in report.suggestions)
