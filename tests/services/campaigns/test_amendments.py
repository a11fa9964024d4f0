"""Amendments: allowed changes get a date and a number, others are refused, and later annotations store the number."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.models import Campaign
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition_file import DefinitionSource, parse_yaml
from spanplat.schemas.submission import Submission
from spanplat.services.accounts.audit import list_events
from spanplat.services.campaigns.amendments import amend, definition_text, list_amendments
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.extending import raise_annotators
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.participation import enter
from spanplat.services.crowd.saving import save_item

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def changed(database: Database, **parts: Any) -> DefinitionSource:
    """Return the definition in force with some parts replaced."""
    with database.reading() as session:
        content = definition_of(find_campaign(session, "study")).model_dump(mode="json")
    return DefinitionSource("study.yaml", content | parts, {})


def put(database: Database, note: str = "clearer", base: int | None = None, **parts: Any) -> int:
    source = changed(database, **parts)
    with database.transaction() as session:
        return amend(session, "study", source, note, base=base).number


def arrive(database: Database, person: str) -> str:
    with database.transaction() as session:
        arrival = Arrival("direct", person, f"direct:{person}", {})
        return enter(session, find_campaign(session, "study"), arrival, NOW).participation.token


def complete(database: Database, token: str, position: int, revision: int = 0) -> None:
    save_item(database, token, position, Submission(revision=revision, status="complete"), NOW)


def test_annotations_carry_the_amendment_they_were_saved_under(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launch(guidelines="Mark it.")
    token = arrive(database, "ann")
    complete(database, token, 1)
    assert put(database, guidelines="Mark it all.") == 1
    complete(database, token, 2)
    assert put(database, guidelines="Mark it all, please.") == 2
    complete(database, token, 3)
    with database.reading() as session:
        stamps = [record.amendment for record in export_records(session, "study")]
    assert stamps == [0, 1, 2]


def test_what_was_in_force_stays_readable_with_who_changed_what_and_why(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    launched = launch(guidelines="Mark it.").definition_sha256
    put(database, "people asked", guidelines="Mark it all.", title="Another title")
    with database.reading() as session:
        campaign = find_campaign(session, "study")
        (line,) = list_amendments(session, campaign)
        events = list_events(session, thing="campaign", subject="study", limit=1)
    assert (line.number, line.note, line.changes) == (1, "people asked", ["title", "guidelines"])
    assert line.definition_sha256 == campaign.definition_sha256 != launched
    assert campaign.title == "Another title"
    assert events[0].verb == "campaign.amended"
    assert events[0].detail["changes"] == ["title", "guidelines"]


def test_what_the_platforms_rules_refuse_cannot_come_in_later(
    database: Database, launch: Callable[..., Campaign]
) -> None:
    fair = {"service": "prolific", "reward": "£2.00", "minutes": 10, "codes": {"completed": "DONE-1"}}
    launch(platform=fair)
    with pytest.raises(InvalidInput, match=r"platform\.reward.*£3\.00 an hour is below the minimum"):
        put(database, platform=fair | {"reward": "£0.50"})
    assert put(database, platform=fair | {"reward": "£2.50"}) == 1


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"categories": [{"name": "Wrong"}]}, "categories"),
        ({"categories": [{"name": "Wrong"}, {"name": "Vague"}]}, "categories.1.key"),
        ({"questions": [{"key": "easy", "type": "text", "label": "Was it easy?"}]}, "questions"),
        ({"data": {"dataset": "reports", "systems": ["alder"]}}, "data.systems"),
        ({"item": {"kind": "pair"}}, "item.kind"),
        ({"slug": "other"}, "slug"),
    ],
)
def test_what_would_make_annotations_incomparable_is_refused_with_the_way_out(
    database: Database, launch: Callable[..., Campaign], parts: dict[str, Any], place: str
) -> None:
    launch()
    with pytest.raises(InvalidInput, match=f"{place}.*may not change.*spanplat campaign clone study NEW"):
        put(database, **parts)
    with database.reading() as session:
        campaign = find_campaign(session, "study")
        assert (campaign.amendment, list_amendments(session, campaign)) == (0, [])


@pytest.mark.parametrize(
    "parts",
    [
        {"annotators": {"lease_minutes": 5, "max_batches": 2}},
        {"platform": {"reward": "£3.00", "codes": {"completed": "DONE123"}}},
        {"final_message": "Thank you."},
        {"consent": {"version": "2", "text": "Agree?"}},
        {"categories": [{"name": "Wrong", "description": "Not so."}, {"name": "Unclear"}]},
    ],
)
def test_wording_time_pay_and_codes_may_change(
    database: Database, launch: Callable[..., Campaign], parts: dict[str, Any]
) -> None:
    launch()
    assert put(database, **parts) == 1
    with database.reading() as session:
        campaign = find_campaign(session, "study")
        assert [category.description for category in campaign.categories] == [
            category.description for category in definition_of(campaign).categories
        ]


def test_another_consent_form_needs_another_version(database: Database, launch: Callable[..., Campaign]) -> None:
    launch(consent={"version": "1", "text": "Agree?"})
    with pytest.raises(InvalidInput, match=r"consent\.version: the consent form changes.*give it another"):
        put(database, consent={"version": "1", "text": "Do you agree?"})


def test_no_change_no_note_or_an_old_page_amend_nothing(database: Database, launch: Callable[..., Campaign]) -> None:
    launch()
    with pytest.raises(Conflict, match="nothing was changed"):
        put(database)
    with pytest.raises(InvalidInput, match="say why"):
        put(database, "  ", guidelines="New.")
    put(database, guidelines="New.", base=0)
    with pytest.raises(Conflict, match=r"by somebody else in the meantime \(amendment 1\)"):
        put(database, guidelines="Newer.", base=0)


def test_extending_a_campaign_is_an_amendment_too(database: Database, launch: Callable[..., Campaign]) -> None:
    launch()
    with database.transaction() as session:
        raise_annotators(session, "study", 2)
    with database.reading() as session:
        (line,) = list_amendments(session, find_campaign(session, "study"))
    assert (line.note, line.changes) == ("2 annotators per output", ["annotators.per_output"])


def test_the_text_of_a_definition_makes_the_same_one_again(database: Database, launch: Callable[..., Campaign]) -> None:
    definition = definition_of(launch(guidelines="Mark it.\n\nAll of it.\n"))
    source = parse_yaml(definition_text(definition))
    with database.transaction() as session, pytest.raises(Conflict, match="nothing was changed"):
        amend(session, "study", source, "none")
