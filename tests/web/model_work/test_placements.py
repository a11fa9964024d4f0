"""Placements of a model's quotes on its campaign's pages."""

import re
from typing import Any

from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Annotation, Assignment, Campaign, Span, Unplaced

MODEL = "/admin/campaigns/demo-overlap"
PEOPLE = "/admin/campaigns/demo-people"


def leave_out(database: Database, reasons: dict[str, int]) -> int:
    """Store quotes without a place, and return how many the campaign has placed."""
    with database.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-overlap")).one()
        for reason, number in reasons.items():
            session.add_all(
                Unplaced(campaign_id=campaign.id, kind="span", record={}, reason=reason) for _ in range(number)
            )
        placed = (
            select(func.count(Span.id))
            .join(Annotation, Annotation.id == Span.annotation_id)
            .join(Assignment, Assignment.id == Annotation.assignment_id)
            .where(Assignment.campaign_id == campaign.id)
        )
        return session.scalars(placed).one()


def test_the_share_of_quotes_without_a_place_is_shown_with_rules_and_reasons(researcher: Any, demo: Database) -> None:
    placed = leave_out(demo, {"the quote does not occur in the text": 3, "unknown category 'Blue'": 1})
    share = f"{400 / (placed + 4):.1f}"
    text = researcher.get(f"{MODEL}/unplaced").text
    assert f"{share}\u202f% of {placed + 4} quotes have no place in the text." in text
    assert "word for word" in text
    assert "Not placed: the quote does not occur in the text" in text
    assert f"{share}\u202f%" in researcher.get(MODEL).text.split("Quotes not placed")[1][:300]


def test_what_people_fill_has_no_quotes(researcher: Any) -> None:
    assert "Quotes not placed" not in researcher.get(PEOPLE).text
    assert "quotes have no place" not in researcher.get(f"{PEOPLE}/unplaced").text


def test_records_are_ordered_and_found_on_all_pages_and_downloaded_so(researcher: Any, demo: Database) -> None:
    with demo.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == "demo-overlap")).one()
        quotes = [f"quote {number:03}" for number in range(120)]
        session.add_all(
            Unplaced(campaign_id=campaign.id, kind="span", record={"text": quote, "more": "kept"}, reason="odd")
            for quote in quotes
        )
        session.add(Unplaced(campaign_id=campaign.id, kind="annotation", record={}, reason="no such output"))
    plain, second = (researcher.get(f"{MODEL}/unplaced?page={page}").text for page in (1, 2))
    assert re.findall(r"<q>(.*?)</q>", plain) == quotes[:50]
    assert re.findall(r"<q>(.*?)</q>", second) == quotes[50:100]
    shown = researcher.get(f"{MODEL}/unplaced?sort=quote-&find=QUOTE", HX_Request="true").text
    assert '<div id="records"' in shown
    assert re.findall(r"<q>(.*?)</q>", shown) == quotes[:-51:-1]
    assert "120 of 121" in shown
    assert f'<a rel="next" href="{MODEL}/unplaced?sort=quote-&amp;find=QUOTE&amp;page=2">' in shown
    last = researcher.get(f"{MODEL}/unplaced?sort=quote&page=3").text
    assert "no such output" in last.rpartition("quote 119")[2], "what has no quote comes last"
    lines = researcher.get(f"{MODEL}/unplaced/table/unplaced?sort=quote-&find=quote").text.splitlines()
    assert (len(lines), lines[0], lines[1]) == (121, "quote,what,reason", "quote 119,span,odd")
    assert "No record fits these words." in researcher.get(f"{MODEL}/unplaced?find=nothing+at+all").text
    assert researcher.get(f"{MODEL}/unplaced?sort=colour").status_code == 422
