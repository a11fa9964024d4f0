"""Planning and creating campaigns from definitions, checked against the data in the database."""

from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Assignment, Batch, BatchItem, Campaign, CampaignStatus, Item, JudgedSpan, Output
from spanplat.models.base import Base
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import parse_yaml
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns, plan_clone, set_status, start_link
from spanplat.services.campaigns.planning import CampaignPlan, check_definition, plan_campaign
from spanplat.services.campaigns.validation import validate_text
from spanplat.services.crowd.pages import show_item
from spanplat.services.crowd.participation import enter
from spanplat.services.crowd.saving import save_item
from tests.campaigns import create_campaign
from tests.services.crowd.test_annotating import NOW

Define = Callable[..., CampaignDefinition]
Launch = Callable[..., Campaign]

FILE = """slug: study
title: A study
categories:
- name: Wrong
data:
  dataset: reports
  splits: [test]
"""
MUST_MARK = """
checks:
- name: c
  type: must_mark
  item: {split: test, example: '0', system: alder}
"""


def plan(database: Database, definition: CampaignDefinition) -> CampaignPlan:
    with database.reading() as session:
        return plan_campaign(session, definition)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (("dataset: reports", "dataset: report"), r"study\.yaml:6: data\.dataset: there is no dataset 'report' \(datasets: reports\)"),
        (("[test]", "[test, dev]"), r"study\.yaml:7: data\.splits\.1: 'dev' is not in the dataset \(splits: test\)"),
        (("[test]", "[test]\n  systems: [oak]"), r"study\.yaml:8: data\.systems\.0: 'oak' .*\(systems: alder, birch\)"),
        (("[test]", "[test]\n  examples: ['9']"), r"study\.yaml:8: data\.examples\.0: '9' .*\(examples: 0, 1,"),
        (("[test]", "[test]\n  min_characters: 5000"), r"study\.yaml:5: data: nothing is left of the 12 outputs"),
        (("[test]", "[test]\nspans:\n  suggestions_from: none"), r"study\.yaml:9: spans\.suggestions_from: there is no campaign"),
        (("[test]", "[test]\nannotators:\n  exclude_campaigns:\n  - gone"), r":10: annotators\.exclude_campaigns\.0: there is no"),
        (
            ("- name: Wrong\n", "- name: Left out\n  side: source\n"),
            r"study\.yaml:6: data\.source_text: .* the sources of 6 of 6 examples \(such as '0'\) have no text under 'text'",
        ),
        (("slug: study", "slug: taken"), r"study\.yaml:1: slug: there is a campaign 'taken' already; choose another slug"),
        (
            ("[test]", "[test]\nchecks:\n- name: c\n  type: must_abstain\n  item: {split: test, example: '99', system: alder}"),
            r"study\.yaml:11: checks\.0\.item: dataset 'reports' has no output of system 'alder' for example '99' in split 'test'",
        ),
        (
            (
                "[test]",
                f"[test]{MUST_MARK}  expected: {{quote: absent}}",
            ),
            r"study\.yaml:12: checks\.0\.expected\.quote: the text of its item does not contain the expected quote 'absent'",
        ),
        (
            (
                "[test]",
                f"[test]{MUST_MARK}  expected: {{start: 0, end: 500}}",
            ),
            r"checks\.0\.expected\.end: the expected span ends at 500, but the text has 22 characters",
        ),
    ],
)  # fmt: skip
def test_data_that_do_not_exist_are_named_with_their_line(
    database: Database, launch: Launch, changed: tuple[str, str], message: str
) -> None:
    launch(slug="taken")
    source = parse_yaml(FILE.replace(*changed), name="study.yaml")
    with database.reading() as session, pytest.raises(InvalidInput, match=message):
        check_definition(session, source)


def test_all_that_does_not_exist_is_told_at_once(database: Database, launch: Launch) -> None:
    launch(slug="study")
    second = "\n- name: d\n  type: must_mark\n  item: {split: test, example: '1', system: alder}\n"
    checks = f"{MUST_MARK}  expected: {{quote: absent}}{second}  expected: {{quote: missing}}"
    source = parse_yaml(
        FILE.replace("[test]", f"[test, dev]\n  systems: [oak]\nspans:\n  suggestions_from: none{checks}")
    )
    with database.reading() as session, pytest.raises(InvalidInput) as told:
        check_definition(session, source)
    assert [line.split(": ")[1] for line in str(told.value).splitlines()] == [
        "slug",
        "spans.suggestions_from",
        "checks.0.expected.quote",
        "checks.1.expected.quote",
        "data.splits.1",
        "data.systems.0",
    ]


def test_a_dataset_that_is_not_there_is_told_once_beside_what_else_is_missing(
    database: Database, launch: Launch
) -> None:
    launch(slug="study")
    expected = f"{MUST_MARK}  expected: {{quote: short}}"
    with database.reading() as session:
        problems = validate_text(
            session, FILE.replace("reports", "absent").replace("[test]", f"[test]{expected}")
        ).problems
    assert [problem.path for problem in problems] == [("slug",), ("data", "dataset")]


def test_planning_writes_nothing(database: Database, reports: None, define: Define) -> None:
    del reports

    def rows(session: Session) -> dict[str, int]:
        counts = {table.name: select(func.count()).select_from(table) for table in Base.metadata.sorted_tables}
        return {name: session.scalar(count) or 0 for name, count in counts.items()}

    with database.transaction() as session:
        before = rows(session)
        assert len(plan_campaign(session, define()).batches) == 4
        assert rows(session) == before


def test_a_campaign_is_created_as_planned(database: Database, launch: Launch) -> None:
    launch(batches={"regular": 5}, annotators={"per_output": 1.4})
    with database.reading() as session:
        sizes = (
            session.execute(select(func.count()).select_from(BatchItem).group_by(BatchItem.batch_id)).scalars().all()
        )
        assert sorted(sizes) == [2, 5, 5]
        assert session.scalar(select(func.count()).select_from(Assignment)) == 4
        assert session.scalar(select(func.count()).select_from(Item)) == 12


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"min_characters": 22}, {0, 1, 2, 4}), ({"max_characters": 17}, {3, 5}), ({"min_characters": 17, "max_characters": 22}, {3, 0})],
)  # fmt: skip
def test_outputs_are_selected_by_their_characters(
    database: Database, define: Define, bounds: dict[str, int], expected: set[int]
) -> None:
    planned = plan(database, define(data={"dataset": "reports", "systems": ["alder"]} | bounds))
    lengths = _lengths(database)
    least, most = bounds.get("min_characters", 0), bounds.get("max_characters", 1000)
    chosen = {output.id for item in planned.items for output in item.outputs}
    assert {int(example) for output, (example, _, _) in lengths.items() if output in chosen} == expected
    assert chosen == {o for o, (_, system, length) in lengths.items() if system == "alder" and least <= length <= most}


@pytest.mark.usefixtures("reports")
@pytest.mark.parametrize("kind", ["output", "pair"])
def test_a_batch_holds_texts_of_one_length_only(database: Database, define: Define, kind: str) -> None:
    """The length of an item is that of its longest output."""
    planned = plan(database, define(batches={"regular": 2, "lengths": [20]}, item={"kind": kind}))
    lengths = _lengths(database)
    longest = [max(lengths[output.id][2] for output in item.outputs) for item in planned.items]
    batches = [{longest[item.number] >= 20 for item in batch} for batch in planned.batches]
    assert {True} in batches
    assert {False} in batches
    assert {True, False} not in batches


def _lengths(database: Database) -> dict[int, tuple[str, str, int]]:
    """Return example, system and number of characters of each output."""
    with database.reading() as session:
        outputs = session.scalars(select(Output)).all()
        return {output.id: (output.example.key, output.system.slug, len(output.text)) for output in outputs}


def test_a_limit_is_met_although_some_outputs_serve_as_checks(
    database: Database, reports: None, define: Define
) -> None:
    del reports
    items = [{"split": "test", "example": str(number), "system": "alder"} for number in range(5)]
    definition = define(
        data={"dataset": "reports", "limit": 7},
        checks=[{"name": f"c{n}", "type": "must_abstain", "item": item} for n, item in enumerate(items)],
        batches={"regular": 7, "attention": 1},
    )
    planned = plan(database, definition)
    assert Counter(item.role for item in planned.items) == {"regular": 7, "attention": 5}
    assert len({item.outputs[0].id for item in planned.items}) == 12


def test_pairs_show_two_systems_of_one_example_in_either_order(
    database: Database, reports: None, define: Define
) -> None:
    del reports
    items = plan(database, define(item={"kind": "pair"})).items
    assert len(items) == 6
    assert all(len({output.example_id for output in item.outputs}) == 1 for item in items)
    assert {tuple(output.system for output in item.outputs) for item in items} == {
        ("alder", "birch"),
        ("birch", "alder"),
    }
    with pytest.raises(InvalidInput, match="no example has outputs of two systems"):
        plan(database, define(item={"kind": "pair"}, data={"dataset": "reports", "systems": ["alder"]}))


def test_every_output_is_asked_about_under_each_aspect(database: Database, reports: None, define: Define) -> None:
    del reports
    items = plan(
        database, define(item={"kind": "aspect", "aspects": [{"name": "Fluency"}, {"name": "Accuracy"}]})
    ).items
    assert Counter(item.aspect for item in items) == {"fluency": 12, "accuracy": 12}


def test_spans_of_a_campaign_are_judged_in_another(database: Database, launch: Launch) -> None:
    with pytest.raises(InvalidInput, match="campaign 'study' has no spans on the selected outputs"):
        launch(slug="study"), launch(slug="judges", item={"kind": "span", "spans_from": "study"})
    with database.transaction() as session:
        visit = enter(session, find_campaign(session, "study"), Arrival("direct", "ann", "ann", {}), NOW)
        assert visit.assignment is not None
        text = show_item(session, visit.definition, visit.assignment, 1)["text"]
    marked = [{"start": s, "end": s + 2, "category": "wrong", "text": text[s : s + 2]} for s in (0, 3)]
    save_item(
        database,
        visit.participation.token,
        1,
        Submission.model_validate({"revision": 0, "status": "complete", "spans": marked}),
        NOW,
    )
    launch(slug="judges", item={"kind": "span", "spans_from": "study"}, batches={"regular": 2})
    with database.transaction() as session:
        assert session.scalar(select(func.count()).select_from(JudgedSpan)) == 2
        judge = enter(session, find_campaign(session, "judges"), Arrival("direct", "bob", "bob", {}), NOW)
        assert judge.assignment is not None
        judged = [show_item(session, judge.definition, judge.assignment, p)["item"]["judged"] for p in (1, 2)]
    assert sorted(entry["text"] for entry in judged) == sorted(span["text"] for span in marked)


def test_a_clone_has_the_definition_and_none_of_the_annotations(database: Database, launch: Launch) -> None:
    launch(guidelines="Mark what is wrong.")
    with database.transaction() as session:
        clone = create_campaign(session, plan_clone(session, "study", "study-2"))
    assert (clone.status, clone.definition["guidelines"]) == ("draft", "Mark what is wrong.")
    with database.reading() as session:
        batches = [
            session.scalar(select(func.count()).select_from(Batch).where(Batch.campaign_id == campaign.id))
            for campaign in list_campaigns(session)
        ]
    assert batches == [4, 4]
    for new, problem in (
        ("study", "already; choose another slug"),
        ("Not a slug", "must be lower-case letters.*such as 'not-a-slug'"),
    ):
        with database.reading() as session, pytest.raises(InvalidInput, match=problem):
            create_campaign(session, plan_clone(session, "study", new))
    with database.reading() as session, pytest.raises(NotFound, match="there is no campaign 'other'"):
        create_campaign(session, plan_clone(session, "other", "new"))


STATUSES = [CampaignStatus.DRAFT, CampaignStatus.OPEN, CampaignStatus.PAUSED, CampaignStatus.CLOSED]
POSSIBLE = {
    ("draft", "open"),
    ("open", "paused"),
    ("open", "closed"),
    ("paused", "open"),
    ("paused", "closed"),
    ("closed", "open"),
}


@pytest.mark.parametrize("present", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
def test_a_campaign_goes_only_where_it_can(
    sqlite_database: Database, present: CampaignStatus, wanted: CampaignStatus
) -> None:
    with sqlite_database.transaction() as session:
        definition = {"slug": "c", "title": "C", "categories": [{"name": "Wrong"}], "data": {"dataset": "reports"}}
        session.add(
            Campaign(slug="c", title="C", kind="human", status=present, definition=definition, definition_sha256="c")
        )
        session.flush()
        if present == wanted or (present, wanted) in POSSIBLE:
            assert set_status(session, "c", wanted).status == wanted
        else:
            with pytest.raises(Conflict, match=f"campaign 'c' is {present} and cannot become {wanted}"):
                set_status(session, "c", wanted)


def test_an_imported_campaign_cannot_be_opened(sqlite_database: Database) -> None:
    with sqlite_database.transaction() as session:
        session.add(
            Campaign(slug="c", title="C", kind="external", status="closed", definition={}, definition_sha256="")
        )
        session.flush()
        with pytest.raises(Conflict, match="was imported; nobody annotates in it"):
            set_status(session, "c", CampaignStatus.OPEN)


def test_the_start_link_holds_what_the_platform_fills_in(database: Database, reports: None, define: Define) -> None:
    del reports
    links = {}
    with database.transaction() as session:
        for service in ("direct", "prolific", "mturk", "other"):
            campaign = create_campaign(
                session, plan_campaign(session, define(slug=service, platform={"service": service}))
            )
            links[service] = start_link(campaign, "https://example.org/")
    assert links["direct"] == "https://example.org/c/direct/start"
    assert links["prolific"].endswith(
        "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )
    assert links["mturk"] == "https://example.org/c/mturk/start"
    assert links["other"].endswith("?participant=…&study=…&session=…")
