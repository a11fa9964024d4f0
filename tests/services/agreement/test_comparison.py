"""Agreement between campaigns: the compared annotations, and the messages if nothing can be compared."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.models import Assignment
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.agreement.report_means import mean_of_reports
from spanplat.services.agreement.sides import Filters, Rule
from spanplat.services.agreement.statistics import campaign_statistics
from spanplat.services.campaigns.importing import import_campaign
from spanplat.text import sha256_of

TEXT = "abcdefghijklmnopqrstuvwxyz"

Marks = list[tuple[int, int, str]]


def record(annotator: str, example: str, marks: Marks, **more: Any) -> dict[str, Any]:
    text = f"{TEXT} {example}"
    spans = [{"start": s, "end": e, "text": text[s:e], "category": category} for s, e, category in marks]
    names = {"dataset": "d", "split": "test", "example": example, "system": "m", "text": text}
    who = {"annotator": annotator, "annotator_kind": "human", "campaign": "c", "kind": "human"}
    return names | who | {"text_sha256": sha256_of(text), "spans": spans} | more


class Store:
    """Imports small campaigns and compares them."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.database = database
        self.folder = folder

    def campaign(self, slug: str, *records: dict[str, Any]) -> None:
        path = self.folder / f"{slug}.jsonl"
        path.write_text("".join(json.dumps(entry) + "\n" for entry in records), "utf-8")
        import_campaign(self.database, path, slug=slug, format="native")

    def compare(self, reference: str, hypothesis: str, **options: Any) -> dict[str, Any]:
        return compute_agreement(self.database, reference, hypothesis, AgreementOptions(samples=2, **options)).as_json()


@pytest.fixture
def store(database: Database, tmp_path: Path) -> Store:
    return Store(database, tmp_path)


def f1(report: dict[str, Any], variant: str = "hard") -> float | None:
    value: float | None = report["char"][variant]["f1"]
    return value


def test_an_output_that_a_side_never_completed_is_absent_and_not_empty(store: Store) -> None:
    store.campaign("ref", record("a", "1", [(0, 4, "X")]), record("a", "2", [(0, 4, "X")]), record("a", "3", []))
    store.campaign(
        "hyp",
        record("b", "1", [(0, 4, "X")]),
        record("b", "3", []),
        record("b", "2", [], status="draft"),
        record("b", "4", []),
    )
    report = store.compare("ref", "hyp")
    assert (report["outputs"], report["outputs_reference_only"], report["outputs_hypothesis_only"]) == (2, 1, 1)
    assert f1(report) == 1
    assert (report["reference"]["spans"], report["hypothesis"]["spans"]) == (1, 1)


def test_rules_choose_among_several_annotators(store: Store) -> None:
    store.campaign("ref", record("a", "1", [(0, 4, "X")]))
    store.campaign("hyp", record("b", "1", [(0, 4, "X")]), record("c", "1", [(8, 12, "X")]))
    scores = {
        rule: f1(store.compare("ref", "hyp", hypothesis_rule=rule)) for rule in ("first", "group=0", "group=1", "each")
    }
    assert scores == {"first": 1, "group=0": 1, "group=1": 0, "each": 0.5}
    pairs = store.compare("ref", "hyp", reference_rule="pairs")
    assert (f1(pairs), pairs["outputs"]) == (0.5, 1)
    assert store.compare("ref", "hyp", hypothesis_rule="each")["outputs"] == 1


def test_the_annotators_of_one_campaign_are_compared_with_each_other_and_never_with_themselves(store: Store) -> None:
    store.campaign(
        "c",
        *(
            record(name, "1", marks)
            for name, marks in (("a", [(0, 4, "X")]), ("b", [(0, 4, "X")]), ("c", [(0, 4, "Y")]))
        ),
        record("a", "2", [(0, 9, "X")]),
    )
    pairs = store.compare("c", "c", reference_rule="pairs", hypothesis_rule="pairs")
    assert f1(pairs) == pytest.approx(1 / 3)
    assert f1(pairs, "soft") == 1
    assert (pairs["outputs"], pairs["outputs_reference_only"]) == (1, 1)
    assert f1(store.compare("c", "c", reference_rule="group=0", hypothesis_rule="group=2")) == 0
    with pytest.raises(
        InvalidInput, match="compared with itself; choose two of its annotators with the rules group=K and group=L"
    ):
        store.compare("c", "c")


def test_campaigns_with_different_categories_are_compared_over_all_of_them(store: Store) -> None:
    store.campaign("ref", record("a", "1", [(0, 4, "Grammar"), (6, 9, "Style")]))
    store.campaign("hyp", record("b", "1", [(0, 4, "Style"), (6, 9, "Fact"), (12, 15, "Style")]))
    report = store.compare("ref", "hyp")
    assert list(report["per_category"]) == ["Grammar", "Style", "Fact"]
    assert f1(report) == 0
    assert report["char"]["soft"]["recall"] == 1
    assert report["confusion"]["labels"][:3] == ["Grammar", "Style", "Fact"]


def test_filters_leave_outputs_and_categories_out(store: Store) -> None:
    store.campaign("ref", record("a", "1", [(0, 4, "X"), (5, 9, "Y")]), record("a", "2", [(0, 4, "X")], split="dev"))
    store.campaign("hyp", record("b", "1", [(0, 4, "X")]), record("b", "2", [], split="dev"))
    assert store.compare("ref", "hyp", filters=Filters(splits=("dev",)))["outputs"] == 1
    assert f1(store.compare("ref", "hyp", filters=Filters(splits=("test",), categories=("x",)))) == 1
    with pytest.raises(InvalidInput, match=r"neither campaign has a category 'z' \(categories: x, y\)"):
        store.compare("ref", "hyp", filters=Filters(categories=("z",)))
    with pytest.raises(
        InvalidInput, match=r"'ref' has no completed annotation of the chosen outputs; .*widen the filters"
    ):
        store.compare("ref", "hyp", filters=Filters(systems=("none",)))


def test_wrong_use_says_what_to_do(store: Store) -> None:
    store.campaign("ref", record("a", "1", []))
    store.campaign("elsewhere", record("b", "9", []))
    with pytest.raises(NotFound, match=r"there is no campaign 'rex' \(campaigns: elsewhere, ref\)"):
        store.compare("rex", "ref")
    with pytest.raises(InvalidInput, match="'second' is no rule; use first, each, pairs, all, or group=K"):
        store.compare("ref", "elsewhere", reference_rule="second")
    with pytest.raises(
        InvalidInput,
        match=r"share no output .*: the first has 1 annotation of d/test, the second 1 annotation of d/test; compare",
    ):
        store.compare("ref", "elsewhere")
    with store.database.reading() as session, pytest.raises(InvalidInput, match="use the rule each, first or group=K"):
        campaign_statistics(session, "ref", rule="pairs")


def test_late_excluded_and_check_work_is_in_no_figure(store: Store) -> None:
    store.campaign("ref", record("a", "1", [(0, 4, "X")]), record("a", "2", [(0, 4, "X")]))
    check = {"kind": "must_mark", "passed": True}
    store.campaign("hyp", record("b", "1", [(0, 4, "X")]), record("b", "2", [(9, 12, "X")], check=check))
    assert (store.compare("ref", "hyp")["outputs"], f1(store.compare("ref", "hyp"))) == (1, 1)
    with store.database.transaction() as session:
        session.execute(update(Assignment).values(excluded=True))
    with pytest.raises(InvalidInput, match="has no completed annotation"):
        store.compare("ref", "hyp")


def test_strata_average_over_groups(store: Store) -> None:
    splits = [("1", "test"), ("2", "test"), ("3", "dev")]
    store.campaign("ref", *(record("a", example, [(0, 4, "X")], split=split) for example, split in splits))
    store.campaign(
        "hyp",
        *(record("b", e, [(0, 4, "X")] if split == "test" else [(9, 13, "X")], split=split) for e, split in splits),
    )
    report = store.compare("ref", "hyp", by="split")
    assert report["exact"]["hard"]["micro"]["f1"] == pytest.approx(2 / 3)
    assert report["exact"]["hard"]["strata"]["f1"] == pytest.approx(1 / 2)


def test_an_undefined_figure_is_null_with_its_reason(store: Store) -> None:
    store.campaign("ref", record("a", "1", []))
    store.campaign("hyp", record("b", "1", []))
    report = store.compare("ref", "hyp")
    assert report["gamma"]["hard"]["mean"] is None
    assert report["undefined"]["gamma.hard.mean"]


def test_means_of_reports_keep_parameters_and_the_reasons_all_share() -> None:
    one = {"f1": 1.0, "gamma": {"seed": 42, "outputs": 3}, "undefined": {"a": "no", "b": "no"}, "alike": True}
    other = {"f1": None, "gamma": {"seed": 42, "outputs": 4}, "undefined": {"b": "no"}, "alike": True}
    merged = mean_of_reports([one, other])
    assert merged == {"f1": 1.0, "gamma": {"seed": 42, "outputs": 7}, "undefined": {"b": "no"}, "alike": True}
    assert isinstance(merged["gamma"]["seed"], int)


@pytest.mark.parametrize("text", ["first", "each", "pairs", "all", "group=3"])
def test_a_rule_is_written_as_it_is_read(text: str) -> None:
    assert str(Rule.parse(text)) == text


def test_the_rule_all_gives_one_gamma_over_all_annotators_of_both_sides(store: Store) -> None:
    marks: Marks = [(0, 4, "X"), (10, 14, "X")]
    store.campaign("ref", record("a", "1", marks), record("b", "1", marks), record("a", "2", []))
    store.campaign("hyp", record("h", "1", marks), record("h", "2", []))
    joint = store.compare("ref", "hyp", reference_rule="all")
    assert (joint["outputs"], joint["reference"]["spans"], joint["hypothesis"]["spans"]) == (2, 4, 2)
    assert joint["gamma"]["hard"] == {"mean": 1.0, "outputs": 1}
    assert joint["s_empty"] == {"mean": 1.0, "outputs": 1}
    assert "char" not in joint
    within = store.compare("ref", "ref", reference_rule="all")
    assert (within["outputs"], within["outputs_reference_only"], within["gamma"]["hard"]["outputs"]) == (1, 1, 1)


def test_the_references_people_among_themselves_stand_beside_the_figures(store: Store) -> None:
    store.campaign(
        "ref",
        record("a", "1", [(0, 4, "X")]),
        record("b", "1", [(2, 6, "X")]),
        record("a", "2", [(0, 4, "X")]),
        record("a", "3", [(0, 4, "X")]),
        record("b", "3", [(0, 4, "X")]),
    )
    store.campaign("hyp", record("m", "1", [(0, 4, "X")]), record("m", "2", []))
    ceiling = store.compare("ref", "hyp")["ceiling"]
    within = store.compare("ref", "ref", hypothesis_rule="each", filters=Filters(shared_with="hyp"))
    assert store.compare("ref", "ref", hypothesis_rule="each")["outputs"] == 2
    assert (ceiling["outputs"], ceiling["rules"]) == (1, ["first", "each"])
    assert ceiling["char"]["hard"] == within["char"]["hard"]
    assert ceiling["gamma"]["hard"] == within["gamma"]["hard"]
    assert store.compare("ref", "hyp", reference_rule="group=1")["ceiling"]["rules"] == ["group=1", "each"]
    for one in (within, store.compare("hyp", "ref"), store.compare("ref", "hyp", reference_rule="pairs")):
        assert one["ceiling"] is None
