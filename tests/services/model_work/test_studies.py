"""A prompt study against a stand-in: estimate, one ceiling of cost, no request sent twice, and one table of results."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Campaign, CampaignStatus, Completion
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.study import StudyDefinition
from spanplat.services.agreement.leaderboard import compute_leaderboard
from spanplat.services.attention import SpentMoney, list_attention
from spanplat.services.background.jobs import cancel, enqueue
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns, plan_clone, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.campaigns.progress import list_progress
from spanplat.services.model_work.studies.defining import (
    create_study,
    find_study,
    list_studies,
    plan_study,
    variants_of,
)
from spanplat.services.model_work.studies.reporting import (
    VariantRow,
    compared,
    load_variants,
    study_options,
    study_rows,
)
from spanplat.services.model_work.studies.running import run_study, study_stops_at_ceiling
from tests.campaigns import create_campaign
from tests.services.model_work.conftest import QuickClock
from tests.standin.script import PRICE_IN, PRICE_OUT, Answer, Call, Reply, Trouble, always
from tests.standin.server import StandIn

OUTPUTS = 6
RIGHT = json.dumps({"annotations": [{"reason": "It is dry.", "text": "rains all day", "category": "Wrong"}]})
ASIDE = json.dumps({"annotations": [{"reason": "Odd.", "text": "nobody knows", "category": "Unclear"}]})
PRICE = {"input": PRICE_IN, "output": PRICE_OUT}


def marks_right_when_it_thinks(call: Call) -> Answer:
    return Reply(RIGHT if "step by step" in call.prompt else ASIDE, tokens=(100, 50, 0))


@pytest.fixture
def base(database: Database, standin: StandIn, imported: Callable[..., str]) -> None:
    """A gold campaign of people over six outputs, and a model campaign for the variants to be like."""
    imported("gold", people={output: [(13, 26, "Wrong")] for output in range(OUTPUTS)})
    content = {
        "slug": "like",
        "title": "Like this",
        "kind": "llm",
        "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
        "data": {"dataset": "made"},
        "batches": {"regular": 10},
        "model": {
            "provider": "openai",
            "model": "tiny",
            "base_url": f"{standin.url}/v1",
            "key_variable": "OPENAI_API_KEY",
            "price": PRICE,
        },
    }
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    standin.script = marks_right_when_it_thinks


def make(database: Database, **parts: Any) -> StudyDefinition:
    content = {"slug": "prompts", "title": "Which prompt", "gold": "gold", "like": "like", "presets": ["base", "cot"]}
    definition = StudyDefinition.model_validate(content | parts)
    with database.reading() as session:
        plans = plan_study(session, definition)
    create_study(database, definition, plans)
    return definition


def table(database: Database, measure: str = "char.hard") -> list[VariantRow]:
    with database.reading() as session:
        study = find_study(session, "prompts")
        variants = load_variants(session, study, datetime.now(UTC))
    gold, *answered = compared(study, variants)
    board = compute_leaderboard(database, gold, answered, study_options()) if answered else None
    return study_rows(variants, board, measure)


@pytest.mark.usefixtures("base")
def test_the_price_of_the_whole_study_is_told_before_anything_is_asked(database: Database, standin: StandIn) -> None:
    make(database)
    report = run_study(database, "prompts", dry_run=True)
    estimates = {name: run.estimate for name, run in report.runs.items()}
    assert {name: guess.items for name, guess in estimates.items() if guess} == {"base": OUTPUTS, "cot": OUTPUTS}
    assert report.cost == pytest.approx(sum(guess.cost or 0 for guess in estimates.values() if guess))
    assert report.cost
    assert report.cost > 0
    assert standin.ledger.calls == []


@pytest.mark.usefixtures("base")
def test_cost_figures_and_significance_stand_in_one_table_the_best_variant_first(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    make(database)
    report = run_study(database, "prompts", clock=quick)
    assert (report.left, report.problems) == (0, {})
    assert report.cost == pytest.approx(standin.ledger.cost)
    best, other = table(database)
    assert (best.variant.name, best.is_best, best.p_best) == ("cot", True, None)
    assert best.entry is not None
    assert other.entry is not None
    assert best.entry.figures["char.hard"].value == pytest.approx(1)
    assert best.entry.figures["gamma.hard"].value == pytest.approx(1)
    assert other.entry.figures["char.hard"].value == pytest.approx(0)
    assert other.p_best is not None
    assert other.p_best < 0.1  # of six outputs, 2 of 64 swaps are as extreme
    assert best.variant.run.cost_per_1000 == pytest.approx((100 * PRICE_IN + 50 * PRICE_OUT) / 1e6 * 1000)
    assert best.variant.run.seconds_per_output is not None


@pytest.mark.usefixtures("base")
def test_a_study_is_resumed_without_asking_anything_twice(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    make(database)
    standin.script = lambda call: Trouble(400) if call.number > 8 else marks_right_when_it_thinks(call)
    first = run_study(database, "prompts", clock=quick)
    assert first.left == 2 * OUTPUTS - 8
    standin.script = marks_right_when_it_thinks
    assert run_study(database, "prompts", clock=quick).left == 0
    assert run_study(database, "prompts", clock=quick).left == 0
    assert standin.ledger.billed == 2 * OUTPUTS
    assert max(standin.ledger.answered.values()) == 1


@pytest.mark.usefixtures("base")
def test_all_variants_together_stay_below_the_ceiling(database: Database, standin: StandIn, quick: QuickClock) -> None:
    call = (100 * PRICE_IN + 50 * PRICE_OUT) / 1e6
    short = {"parameters": {"max_tokens": 50}}
    make(database, presets=[], variants=dict.fromkeys(("one", "two", "three"), short), max_cost=1)
    standin.script = always(Reply(ASIDE, tokens=(100, 50, 0)))
    report = run_study(database, "prompts", clock=quick, concurrency=1, max_cost=10 * call)
    assert standin.ledger.cost <= 10 * call
    assert 0 < standin.ledger.billed < 3 * OUTPUTS
    assert report.left == 3 * OUTPUTS - standin.ledger.billed
    assert "ceiling" in {run.stopped for run in report.runs.values()}


@pytest.mark.usefixtures("base")
def test_a_study_that_its_ceiling_stopped_needs_attention(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    def told() -> list[SpentMoney]:
        now = datetime.now(UTC)
        with database.reading() as session:
            found = list_attention(session, list_progress(session, list_campaigns(session), now), now)
        return [entry for entry in found if isinstance(entry, SpentMoney)]

    ceiling = 10 * (100 * PRICE_IN + 50 * PRICE_OUT) / 1e6
    short = {"parameters": {"max_tokens": 50}}
    make(database, presets=[], variants=dict.fromkeys(("one", "two", "three"), short), max_cost=ceiling)
    standin.script = always(Reply(ASIDE, tokens=(100, 50, 0)))
    assert told() == [], "it was not run yet"
    run_study(database, "prompts", clock=quick, concurrency=1)
    assert told() == [SpentMoney("study", "prompts", "Which prompt", ceiling)]
    with database.transaction() as session:
        job = enqueue(session, "run-study", "run-study:prompts", {"study": "prompts"})
    assert told() == [], "a run is about to begin"
    with database.transaction() as session:
        cancel(session, job.id)
    assert told() != []
    run_study(database, "prompts", clock=quick, max_cost=1)
    assert told() == [], "everything is answered"


@pytest.mark.usefixtures("base")
def test_a_variant_that_reached_a_ceiling_of_its_own_leaves_the_study_money(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    call = (100 * PRICE_IN + 50 * PRICE_OUT) / 1e6
    dear = {"parameters": {"max_tokens": 50}, "max_cost": 3 * call}
    make(database, presets=[], variants={"one": dear, "two": {}}, max_cost=1)
    standin.script = always(Reply(ASIDE, tokens=(100, 50, 0)))
    report = run_study(database, "prompts", clock=quick, concurrency=1)
    assert (report.runs["one"].stopped, report.runs["two"].stopped) == ("ceiling", "done")
    with database.reading() as session:
        assert not study_stops_at_ceiling(session, find_study(session, "prompts"))


@pytest.mark.usefixtures("base")
def test_a_variant_that_cannot_go_on_does_not_keep_the_others_from_being_asked(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    make(database, presets=[], models=["absent", "tiny"], variants={"other": {"preset": "noguide"}})
    standin.script = lambda call: (
        Trouble(404, "no such model") if call.body["model"] == "absent" else marks_right_when_it_thinks(call)
    )
    with database.transaction() as session:
        set_status(session, "prompts-other", CampaignStatus.PAUSED)
    report = run_study(database, "prompts", clock=quick)
    assert "no such model" in report.problems["absent"]
    assert "spanplat campaign open prompts-other" in report.problems["other"]
    assert report.runs["tiny"].left == 0
    assert [(row.variant.name, row.entry is None) for row in table(database)] == [
        ("tiny", False),
        ("absent", True),
        ("other", True),
    ]


@pytest.mark.usefixtures("base")
def test_a_variant_has_the_settings_of_the_campaign_it_is_like_but_for_what_belongs_to_another_preset_or_model(
    database: Database,
) -> None:
    make(database, presets=["base", "cot"], models=["tiny", "small"], data={"dataset": "made", "systems": ["alder"]})
    with database.reading() as session:
        found = variants_of(session, find_study(session, "prompts"))
        like = definition_of(session.merge(found["base-tiny"])).model
        other = definition_of(session.merge(found["cot-small"]))
        assert [study.slug for study in list_studies(session)] == ["prompts"]
    assert list(found) == ["base-tiny", "base-small", "cot-tiny", "cot-small"]
    assert like is not None
    assert like.price is not None
    assert other.model is not None
    assert other.model.price is None
    assert (other.model.preset, other.model.model, other.model.base_url) == ("cot", "small", like.base_url)
    assert "think" in other.model.parts
    assert other.data is not None
    assert other.data.systems == ["alder"]


@pytest.mark.usefixtures("base")
def test_three_models_with_three_seeds_each_are_one_study_and_their_mean_a_campaign_of_its_own(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    make(
        database,
        gold=None,
        presets=[],
        models=["tiny", "small"],
        variants={
            "other": {
                "provider": "anthropic",
                "model": "claude",
                "base_url": standin.url,
                "key_variable": "ANTHROPIC_API_KEY",
            }
        },
        protocol="three-seeds",
        ensemble=True,
    )
    standin.script = always(Reply(RIGHT, tokens=(100, 50, 0)))
    assert run_study(database, "prompts", dry_run=True).ensemble is None
    report = run_study(database, "prompts", clock=quick)
    assert (report.left, report.problems, report.ensemble) == (0, {}, "prompts-ensemble")
    sent: dict[str, list[Any]] = {}
    for call in standin.ledger.calls:
        assert (call.body["temperature"], call.body["max_tokens"]) == (0.001, 1024)
        sent.setdefault(call.body["model"], []).append(call.body.get("seed"))
    assert {model: Counter(seeds) for model, seeds in sent.items()} == {
        "tiny": Counter({42: OUTPUTS, 1738: OUTPUTS, 1234: OUTPUTS}),
        "small": Counter({42: OUTPUTS, 1738: OUTPUTS, 1234: OUTPUTS}),
        "claude": Counter({None: 3 * OUTPUTS}),
    }
    with database.reading() as session:
        made = find_campaign(session, "prompts-ensemble").imported_from or {}
        stored = session.scalars(select(Completion.request)).all()
    assert Counter((entry or {}).get("seed") for entry in stored) == Counter(
        {None: 3 * OUTPUTS, 42: 2 * OUTPUTS, 1738: 2 * OUTPUTS, 1234: 2 * OUTPUTS}
    )
    assert len(made["report"]["annotators"]) == 9
    assert made["report"]["items"] == OUTPUTS
    assert run_study(database, "prompts", clock=quick).ensemble == "prompts-ensemble"
    assert standin.ledger.billed == 9 * OUTPUTS
    assert [(row.variant.name, row.entry) for row in untested(database)] == [
        ("tiny", None),
        ("small", None),
        ("other", None),
    ]


def untested(database: Database) -> list[VariantRow]:
    with database.reading() as session:
        study = find_study(session, "prompts")
        variants = load_variants(session, study, datetime.now(UTC))
    assert compared(study, variants) == ()
    return study_rows(variants, None, "char.hard")


@pytest.mark.usefixtures("base")
def test_an_ensemble_waits_until_every_variant_has_answered(
    database: Database, standin: StandIn, quick: QuickClock
) -> None:
    make(database, ensemble=True)
    standin.script = lambda call: Trouble(400) if call.number > 8 else marks_right_when_it_thinks(call)
    assert run_study(database, "prompts", clock=quick).ensemble is None
    standin.script = marks_right_when_it_thinks
    assert run_study(database, "prompts", clock=quick).ensemble == "prompts-ensemble"


@pytest.mark.usefixtures("base")
def test_a_protocol_takes_the_place_of_what_the_campaign_it_is_like_says(database: Database) -> None:
    with database.transaction() as session:
        content = definition_of(find_campaign(session, "like")).model_dump(mode="json")
        content |= {"slug": "warm"}
        content["model"] |= {"parameters": {"temperature": 0.9, "seed": 5}, "repeats": 2}
        create_campaign(session, plan_campaign(session, CampaignDefinition.model_validate(content)))
    make(
        database,
        like="warm",
        presets=["base"],
        variants={"thinking": {"protocol": "reasoning"}},
        protocol="three-seeds",
    )
    make(database, slug="again", like="prompts-base", presets=["cot"], protocol="three-seeds-short")
    with database.reading() as session:
        models = [
            definition_of(find_campaign(session, slug)).model
            for slug in ("prompts-base", "prompts-thinking", "again-cot")
        ]
    told = [(entry.parameters.get("seed"), entry.repeats, entry.max_tokens) for entry in models if entry]
    assert told == [([42, 1738, 1234], 3, 1024), (None, 1, 32_768), ([42, 1738, 1234], 3, 128)]


@pytest.mark.usefixtures("base")
def test_what_cannot_be_studied_is_told(database: Database) -> None:
    make(database)
    with pytest.raises(Conflict, match="there is a study 'prompts' already"):
        make(database)
    with pytest.raises(NotFound, match="there is no campaign 'gone'"):
        make(database, slug="more", gold="gone")
    with pytest.raises(InvalidInput, match="'gold' is not a model campaign"):
        make(database, slug="more", like="gold")
    with pytest.raises(InvalidInput, match="variant pairwise: model: preset 'pairwise' compares two texts"):
        make(database, slug="more", presets=["pairwise"])
    with pytest.raises(InvalidInput, match="an ensemble needs two annotators or more"):
        make(database, slug="more", presets=["base"], ensemble=True)
    with database.transaction() as session:
        create_campaign(session, plan_clone(session, "like", "more-ensemble"))
    with pytest.raises(
        Conflict, match="there is a campaign 'more-ensemble' already, which the ensemble would be called"
    ):
        make(database, slug="more", ensemble=True)
    with pytest.raises(NotFound, match="there is no study 'more'"):
        run_study(database, "more")


@pytest.mark.usefixtures("base")
def test_a_study_that_cannot_be_created_whole_leaves_no_campaign_of_a_variant(database: Database) -> None:
    content = {"slug": "prompts", "title": "Which prompt", "gold": "gold", "like": "like", "presets": ["base", "cot"]}
    definition = StudyDefinition.model_validate(content)
    with database.reading() as session:
        plans = plan_study(session, definition)
        before = [campaign.slug for campaign in list_campaigns(session)]
    # Somebody takes the name of the second variant between the plan and the writing.
    with database.transaction() as session:
        create_campaign(session, plan_clone(session, "like", "prompts-cot"))
    with pytest.raises(Conflict, match="there is a campaign 'prompts-cot' already"):
        create_study(database, definition, plans)
    with database.reading() as session:
        assert {campaign.slug for campaign in list_campaigns(session)} == {*before, "prompts-cot"}
        assert list_studies(session) == []
        assert session.scalar(select(func.count()).select_from(Campaign)) == len(before) + 1, "none is left hidden"


def test_a_study_without_variants_or_with_two_of_one_name_is_refused() -> None:
    content = {"slug": "prompts", "title": "Which prompt", "gold": "gold", "like": "like"}
    with pytest.raises(ValidationError, match="nothing to compare"):
        StudyDefinition.model_validate(content)
    with pytest.raises(ValidationError, match="two variants are called 'cot'"):
        StudyDefinition.model_validate(content | {"presets": ["base", "cot"], "variants": {"cot": {}}})
