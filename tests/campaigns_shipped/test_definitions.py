"""Every definition that ships is valid, complete, and can be created on the data that ship beside it."""

import hashlib
import json
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.llm.prices import cost_of
from spanplat.llm.provider import Usage
from spanplat.models import Dataset, Example, Output, SourceText, System
from spanplat.paths import CAMPAIGNS
from spanplat.rendering import render_source
from spanplat.schemas.checks import GoldCheck, MustAbstainCheck, MustMarkCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import parse_yaml, read_definition, validate_as
from spanplat.schemas.study import StudyDefinition
from spanplat.services.campaigns.planning import check_definition, plan_campaign
from spanplat.services.datasets.storing import source_texts
from spanplat.services.model_work.studies.defining import plan_study
from spanplat.text import sha256_of
from tests.campaigns import create_campaign

DEFINITIONS = sorted(path for folder in ("demo", "starters") for path in (CAMPAIGNS / folder).glob("*.yaml"))
STARTERS = CAMPAIGNS / "starters"
DATASETS = {
    "demo": CAMPAIGNS / "demo" / "dataset.jsonl",
    **{path.stem: path for path in sorted((STARTERS / "data").glob("*.jsonl"))},
}


def definition(path: Path) -> CampaignDefinition:
    return read_definition(path.read_text(encoding="utf-8"), name=path.name)


def starter(name: str) -> CampaignDefinition:
    return definition(STARTERS / f"{name}.yaml")


def load_dataset(session: Session, slug: str, path: Path, systems: dict[str, System]) -> None:
    dataset = Dataset(slug=slug, name=slug)
    session.add(dataset)
    session.flush()
    examples: dict[tuple[str, str], Example] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        name = (record["split"], record["key"])
        if name not in examples:
            examples[name] = Example(
                dataset_id=dataset.id, split=record["split"], key=record["key"], source=record["source"]
            )
            session.add(examples[name])
            session.flush()
            for field, text in source_texts(record["source"]):
                session.add(
                    SourceText(example_id=examples[name].id, field=field, text=text, text_sha256=sha256_of(text))
                )
        slug_of_system = record["system"]
        if slug_of_system not in systems:
            systems[slug_of_system] = System(slug=slug_of_system, name=slug_of_system)
            session.add(systems[slug_of_system])
        session.flush()
        session.add(
            Output(
                example_id=examples[name].id,
                system_id=systems[slug_of_system].id,
                text=record["text"],
                text_sha256=hashlib.sha256(record["text"].encode()).hexdigest(),
            )
        )
    session.flush()


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_a_definition_says_what_it_is_and_whom_it_asks_for_what(path: Path) -> None:
    campaign = definition(path)

    assert campaign.title
    assert path.read_text(encoding="utf-8").startswith("# "), "the first line tells a reader what the file is for"
    assert campaign.guidelines or campaign.kind == "external"
    assert all(category.description for category in campaign.categories)
    assert all(subcategory.description for category in campaign.categories for subcategory in category.subcategories)


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_people_on_a_platform_are_told_their_rights_and_get_a_code(path: Path) -> None:
    campaign = definition(path)
    if campaign.platform.service == "direct":
        assert not campaign.platform.reward
        return

    assert campaign.consent is not None
    for topic in ("What.", "Who.", "Your data.", "Your choice.", "Contact."):
        assert f"**{topic}**" in campaign.consent.text
    assert campaign.platform.reward in campaign.consent.text
    assert campaign.platform.codes.completed
    assert campaign.platform.codes.no_consent


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_the_promised_pay_is_at_least_eight_pounds_an_hour(path: Path) -> None:
    platform = definition(path).platform
    if not platform.reward:
        assert platform.service == "direct"
        return

    assert platform.minutes is not None
    assert float(platform.reward.removeprefix("£")) * 60 / platform.minutes >= 8


def test_slugs_of_shipped_campaigns_are_distinct_and_starters_are_named_after_them() -> None:
    slugs = [definition(path).slug for path in DEFINITIONS]

    assert len(set(slugs)) == len(slugs)
    assert [definition(path).slug for path in sorted(STARTERS.glob("*.yaml"))] == [
        path.stem for path in sorted(STARTERS.glob("*.yaml"))
    ]


def test_expected_quotes_of_checks_occur_exactly_once_in_their_texts() -> None:
    quotes = 0
    for path in DEFINITIONS:
        campaign = definition(path)
        assert campaign.data is not None
        texts = {
            (record["split"], record["key"], record["system"]): record["text"]
            for record in map(json.loads, DATASETS[campaign.data.dataset].read_text(encoding="utf-8").splitlines())
        }
        for check in campaign.checks:
            if isinstance(check, MustMarkCheck):
                expected = [check.expected]
            elif isinstance(check, GoldCheck):
                expected = [span for gold in check.golds for span in gold]
            else:
                continue
            text = texts[check.item.split, check.item.example, check.item.system]
            for span in expected:
                assert span.quote is not None
                assert text.count(span.quote) == 1, (path.name, check.name, span.quote)
                quotes += 1

    assert quotes > 30


def test_every_definition_can_be_created_on_the_shipped_data(sqlite_database: Database) -> None:
    with sqlite_database.transaction() as session:
        systems: dict[str, System] = {}
        for slug, path in DATASETS.items():
            load_dataset(session, slug, path, systems)

    sizes, seats = {}, {}
    # The qualification comes first: the campaign that requires it names it.
    for path in sorted(DEFINITIONS, key=lambda path: (not path.stem.endswith("qualification"), path)):
        if definition(path).kind == "external":
            continue
        with sqlite_database.transaction() as session:
            plan = check_definition(session, parse_yaml(path.read_text(encoding="utf-8"), name=path.name))
            create_campaign(session, plan)
            sizes[plan.definition.slug] = [len(batch) for batch in plan.batches]
            seats[plan.definition.slug] = plan.seats

    assert sizes["demo-people"] == [6] * 9
    assert sizes["data-to-text-qualification"] == [5]
    assert sizes["data-to-text-errors"] == [23 + 7]
    assert sizes["hotel-highlights-spans-short"] == [10]
    assert sizes["hotel-highlights-spans-long"] == [10]
    assert sizes["hotel-highlights-labels"] == [9]
    assert sizes["rotowire-pairwise"] == [6]
    assert seats["data-to-text-qualification"] == [[None] * 230]
    assert seats["hotel-highlights-spans-short"] == [["a", "b"]]
    assert seats["hotel-highlights-labels"] == [[None] * 30]
    assert sizes["webnlg-sliders"] == [12]
    assert sizes["many-sources"] == [8]
    assert sizes["translation-esa"] == sizes["translation-mqm"] == [10]


STUDIES = sorted((CAMPAIGNS / "studies").glob("*.yaml"))


def test_the_studies_that_ship_ask_by_published_protocols_and_average_their_models(sqlite_database: Database) -> None:
    with sqlite_database.transaction() as session:
        load_dataset(session, "hotels", DATASETS["hotels"], {})
        create_campaign(session, plan_campaign(session, starter("hotel-highlights-gauge")))
    asked = {}
    for path in STUDIES:
        study = validate_as(parse_yaml(path.read_text("utf-8"), name=path.name), StudyDefinition)
        with sqlite_database.reading() as session:
            plans = plan_study(session, study)
        models = [plan.definition.model for plan in plans.values() if plan.definition.model]
        assert study.ensemble
        assert None not in [cost_of(model, Usage(1000, 1000)) for model in models], "the price list has every model"
        asked[path.stem] = [(model.repeats, model.max_tokens, model.final_instructions) for model in models]
    assert asked == {"reasoning": [(1, 32_768, True)] * 2, "three-models": [(3, 1024, False)] * 3}


def test_the_data_to_text_study_qualifies_on_gold_and_mixes_gold_into_the_work() -> None:
    qualification, study, model = map(
        starter, ("data-to-text-qualification", "data-to-text-errors", "data-to-text-llm")
    )

    assert qualification.qualification_given is not None
    assert (qualification.qualification_given.measure, qualification.qualification_given.threshold) == ("char", 0.5)
    assert sum(isinstance(check, GoldCheck) for check in qualification.checks) == qualification.batches.gold == 5
    assert study.qualification_required is not None
    assert study.qualification_required.campaign == qualification.slug
    assert (study.batches.regular, study.batches.gold, study.annotators.per_output) == (25, 7, 1.4)
    assert {check.on_fail for check in study.checks} == {"note"}
    assert model.categories == study.categories == qualification.categories
    assert model.guidelines.strip() in study.guidelines


def test_the_sources_of_the_starter_for_them_are_of_many_kinds() -> None:
    settings = starter("many-sources").data
    assert settings is not None
    records = map(json.loads, DATASETS["sources"].read_text(encoding="utf-8").splitlines())
    pages = [render_source(record["source"], settings.source) for record in records]
    shown = "".join(page.html for page in pages if page)
    for part in ("data-chart", 'class="dialogue"', "<iframe", 'class="prose"', "temperature (°C)", "<h3>Town</h3>"):
        assert part in shown


def test_the_hotel_study_words_the_box_by_group_and_pays_the_bonus_for_both_checks() -> None:
    for length in ("short", "long"):
        study = starter(f"hotel-highlights-spans-{length}")

        box = study.questions[0]
        assert box.label_for("a") != box.label_for("b")
        assert {type(check) for check in study.checks} == {MustMarkCheck, MustAbstainCheck}
        assert {check.on_fail for check in study.checks} == {"withhold_bonus"}
        assert (study.batches.regular, study.batches.attention) == (8, 2)


def test_translation_starters_ask_for_severities_source_omissions_and_a_score() -> None:
    for name in ("translation-esa", "translation-mqm"):
        study = starter(name)

        assert [severity.key for severity in study.severities] == ["minor", "major", "critical"]
        omission = study.find_category("omission")
        assert omission is not None
        assert omission.side == "source"
        assert [question.type for question in study.questions if question.required] == ["slider"]

    mqm = starter("translation-mqm")
    assert [category.key for category in mqm.categories if category.exclusive] == ["unintelligible"]
    assert sum(len(category.subcategories) for category in mqm.categories) > 10
