"""The annotator's routes keep the contract that scripts and pages rely on."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select, update

from spanplat.db import Database
from spanplat.models import Annotation, Annotator, Assignment, AssignmentStatus, Participation
from spanplat.schemas.definition import SpanSettings
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.launching import open_campaign
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.planning import plan_campaign
from tests.campaigns import create_campaign

MUST_MARK = {
    "name": "blatant",
    "type": "must_mark",
    "item": {"split": "test", "example": "0", "system": "alder"},
    "expected": {"quote": "falls", "category": "wrong"},
}


def work(text: str, quote: str, revision: int = 0, **fields: Any) -> dict[str, Any]:
    start = text.index(quote)
    span = {"start": start, "end": start + len(quote), "category": "wrong", "text": quote}
    return {"revision": revision, "status": "complete", "spans": [span], "answers": {}} | fields


def read(client: FlaskClient, address: str) -> Any:
    return client.get(address).get_json()


def test_the_start_link_leads_to_an_unguessable_page_and_a_reload_to_the_same(
    database: Database, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(annotators={"per_output": 2})
    address = arrive()
    assert re.fullmatch(r"/a/[\w-]{32}", address)
    assert arrive() == address
    assert arrive(SESSION_ID="another", PROLIFIC_PID="ben") != address
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Participation)) == 2


def test_no_cookie_is_set_and_no_referrer_sent(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    response = client.get(arrive())
    assert response.status_code == 200
    assert "Set-Cookie" not in response.headers
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert "unsafe" not in response.headers["Content-Security-Policy"]


def test_items_are_listed_and_given_as_the_contract_says(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    address = arrive()
    states = read(client, f"{address}/items")
    assert [(state["position"], state["status"], state["revision"]) for state in states] == [
        (1, "new", 0),
        (2, "new", 0),
    ]
    item = read(client, f"{address}/items/1")
    assert {"position", "text", "source", "item", "categories", "spans", "answers", "status", "revision"} <= set(item)
    assert item["item"]["outputs"] == [{"text": item["text"]}]
    assert item["categories"] == [{"key": "wrong", "name": "Wrong"}, {"key": "unclear", "name": "Unclear"}]


def test_the_source_keeps_the_order_of_its_keys(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    address = arrive()
    assert list(read(client, f"{address}/items/1")["source"]) == ["zeta", "alpha"]
    page = client.get(address).text
    assert page.index("zeta</dt>") < page.index("alpha</summary>")


def test_a_save_is_acknowledged_repeated_and_refused_when_stale(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    item = f"{arrive()}/items/1"
    text = read(client, item)["text"]
    body = work(text, text[4:9])
    assert client.put(item, json=body).json == {"revision": 1}
    assert client.put(item, json=body).json == {"revision": 1}
    stale = client.put(item, json=work(text, text[:3]))
    assert stale.status_code == 409
    assert read(client, item)["spans"][0]["text"] == text[4:9]


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"text": "other"}, (409, "other")),
        ({"end": 9999}, (422, "does not lie in the text")),
        ({"category": "nonsense"}, (422, "nonsense")),
        ({"start": -1}, (422, "spans.0.start")),
    ],
)
def test_a_span_that_cannot_be_right_is_refused_with_the_reason(
    client: FlaskClient,
    open_study: Callable[..., None],
    arrive: Callable[..., str],
    change: dict[str, Any],
    answer: tuple[int, str],
) -> None:
    open_study()
    item = f"{arrive()}/items/1"
    body = work(read(client, item)["text"], "a")
    body["spans"][0] |= change
    response = client.put(item, json=body)
    assert response.status_code == answer[0]
    assert answer[1] in response.get_json()["error"]


def test_a_body_that_is_no_submission_is_refused(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    item = f"{arrive()}/items/1"
    assert client.put(item, data="{", content_type="application/json").status_code == 422
    assert client.put(item, json={"revision": 0, "status": "complete", "surprise": 1}).status_code == 422


def test_submitting_needs_every_item_and_then_gives_the_code_again_and_again(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    address = arrive()
    early = client.post(f"{address}/submit")
    assert early.status_code == 409
    assert "1, 2" in early.text
    assert "DONE123" not in early.text
    for position in (1, 2):
        item = f"{address}/items/{position}"
        assert client.put(item, json={"revision": 0, "status": "complete"}).status_code == 200
    assert "DONE123" not in client.get(address).text
    for _ in range(3):
        assert "DONE123" in client.post(f"{address}/submit").text
    assert client.get(f"{address}/submit").status_code == 303
    assert "DONE123" in client.get(address).text
    assert client.put(f"{address}/items/1", json={"revision": 1, "status": "draft"}).status_code == 410
    assert client.get(f"{address}/items").status_code == 410
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 2


def test_an_unknown_token_is_not_found(client: FlaskClient, open_study: Callable[..., None]) -> None:
    open_study()
    assert client.get("/a/nobody").status_code == 404
    assert client.get("/a/nobody/items").status_code == 404
    assert client.put("/a/nobody/items/1", json={"revision": 0, "status": "draft"}).status_code == 404


def test_an_item_of_no_batch_is_not_found(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    assert client.get(f"{arrive()}/items/3").status_code == 404


def test_nothing_is_claimed_or_shown_before_consent_and_declining_ends_the_visit(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(consent={"text": "We ask you to mark errors."})
    address = arrive()
    page = client.get(address).text
    assert "We ask you to mark errors." in page
    assert "is dry" not in page, "words with a space between them, which no token has"
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(Assignment.status != AssignmentStatus.OPEN)) == 0
    declined = client.post(f"{address}/consent", data={"agreed": "no"}, follow_redirects=True)
    assert "You did not agree" in declined.text
    assert "NOCON1" in declined.text
    assert client.get(f"{address}/items").status_code == 410


def test_comprehension_has_two_tries_and_then_asks_to_return_without_a_code(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    question = {"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}
    open_study(comprehension={"questions": [question]})
    address = arrive()
    answer = {"what-do-you-mark": "names"}
    again = client.post(f"{address}/comprehension", data=answer, follow_redirects=True)
    assert "you have 1 more try" in again.text
    ended = client.post(f"{address}/comprehension", data=answer, follow_redirects=True)
    assert "This is no rejection" in ended.text
    assert "DONE123" not in ended.text


def test_a_page_tells_nothing_about_checks_or_expected_answers(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(checks=[MUST_MARK], batches={"regular": 1, "attention": 1})
    address = arrive()
    told = client.get(address).text + "".join(client.get(f"{address}/items/{n}").text for n in (1, 2))
    for secret in ("blatant", "must_mark", "attention", "expected", "DONE123", "alder"):
        assert secret not in told.lower()


def test_groups_read_their_own_wording(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    box = {
        "type": "no_errors",
        "label": "No errors",
        "wording": {"a": "I did not find any errors", "b": "There were no errors"},
    }
    open_study(groups=[{"name": "a"}, {"name": "b"}], questions=[box])
    pages = [client.get(arrive(PROLIFIC_PID=person, SESSION_ID=person)).text for person in ("ann", "ben")]
    seen = [["I did not find any errors" in page, "There were no errors" in page] for page in pages]
    assert sorted(seen) == [[False, True], [True, False]]


def test_systems_are_named_only_where_the_campaign_shows_them(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(item={"show_systems": True})
    item = read(client, f"{arrive()}/items/1")
    assert item["item"]["outputs"] == [{"text": item["text"], "system": "Alder"}]


def test_a_preview_on_mturk_shows_the_instructions_and_claims_nothing(
    client: FlaskClient, database: Database, open_study: Callable[..., None]
) -> None:
    open_study(platform={"service": "mturk"}, guidelines="Mark every *error*.")
    response = client.get("/c/study/start", query_string={"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "h"})
    assert response.status_code == 200
    assert "<em>error</em>" in response.text
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(Annotator)) == 0


def test_a_link_may_ask_for_a_name_and_the_name_leads_back_to_the_same_page(
    client: FlaskClient, open_study: Callable[..., None]
) -> None:
    open_study(platform={"service": "direct", "ask_name": True})
    assert "Your name" in client.get("/c/study/start").text
    addresses = {client.get("/c/study/start", query_string={"annotator": "Ann"}).location for _ in range(2)}
    assert len(addresses) == 1


def test_whoever_comes_when_every_place_is_taken_is_told_so(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    arrive()
    full = client.get("/c/study/start", query_string={"PROLIFIC_PID": "ben", "STUDY_ID": "study", "SESSION_ID": "b"})
    assert full.status_code == 409
    assert "There is no place for you here" in full.text
    assert "All places in this study are taken" in full.text


def test_whoever_reads_keeps_the_place_until_it_is_somebody_elses(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str], database: Database
) -> None:
    open_study()
    address = arrive()
    with database.transaction() as session:
        session.execute(update(Assignment).values(lease_expires_at=datetime.now(UTC) + timedelta(minutes=1)))
    assert client.post(f"{address}/presence").status_code == 204
    with database.transaction() as session:
        seat = session.scalars(select(Assignment)).one()
        assert seat.lease_expires_at is not None
        assert seat.lease_expires_at > datetime.now(UTC) + timedelta(minutes=50)
        seat.lease_expires_at = datetime.now(UTC) - timedelta(minutes=1)
    arrive(PROLIFIC_PID="ben", SESSION_ID="b")
    lost = client.post(f"{address}/presence")
    assert lost.status_code == 410
    assert "place went to somebody else" in lost.text


def test_a_save_on_a_lapsed_place_takes_it_back_or_is_kept_as_late_where_somebody_else_has_it(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str], database: Database
) -> None:
    open_study()
    address = arrive()

    def run_out() -> None:
        with database.transaction() as session:
            session.execute(update(Assignment).values(lease_expires_at=datetime.now(UTC) - timedelta(minutes=1)))

    run_out()
    assert client.put(f"{address}/items/1", json={"revision": 0, "status": "complete"}).json == {"revision": 1}
    run_out()
    arrive(PROLIFIC_PID="ben", SESSION_ID="b")
    for _ in range(2):
        late = client.put(f"{address}/items/2", json={"revision": 0, "status": "complete"})
        assert (late.status_code, late.get_json()["kept"]) == (410, True)
        assert "what you did is kept" in late.get_json()["error"]
    with database.reading() as session:
        assert session.scalar(select(func.count()).where(Annotation.late)) == 1


def test_withdrawing_gives_the_place_back(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    address = arrive()
    assert "You withdrew" in client.post(f"{address}/withdraw", follow_redirects=True).text
    assert arrive(PROLIFIC_PID="ben", SESSION_ID="b") != address


def test_the_page_speaks_the_language_of_the_browser_where_the_campaigns_is_not_translated(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(language="xx")
    assert '<html lang="en" dir="ltr">' in client.get(arrive()).text


def test_a_page_shows_other_peoples_spans_only_as_the_suggestions_that_the_definition_names(
    client: FlaskClient, database: Database, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study(annotators={"per_output": 2})
    first = arrive()
    text = read(client, f"{first}/items/1")["text"]
    client.put(f"{first}/items/1", json=work(text, text[:4]))
    second = arrive(PROLIFIC_PID="ben", SESSION_ID="b")
    item = read(client, f"{second}/items/1")
    assert (item["spans"], item["suggestions"], item["dismissed"]) == ([], [], [])
    with database.transaction() as session:
        find_campaign(session, "study").slug = "earlier"
        definition = definition_of(find_campaign(session, "earlier")).model_copy(
            update={"spans": SpanSettings(suggestions_from="earlier")}
        )
        create_campaign(session, plan_campaign(session, definition))
    open_campaign(database, "study")
    third = arrive(PROLIFIC_PID="cleo", SESSION_ID="c")
    for told in (read(client, f"{third}/items/1"), json.loads(_campaign_of(client.get(third).text))["current"]):
        assert told["spans"] == []
        assert [(entry["text"], sorted(entry)) for entry in told["suggestions"]] == [
            (text[:4], ["category", "end", "number", "output", "side", "start", "text"])
        ]


def _campaign_of(page: str) -> str:
    found = re.search(r'id="campaign">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_lists_untouched_items_as_runs_and_the_others_with_their_state(
    client: FlaskClient, open_study: Callable[..., None], arrive: Callable[..., str]
) -> None:
    open_study()
    address = arrive()
    page = client.get(address).text
    positions = [state["position"] for state in client.get(f"{address}/items").get_json()]
    assert json.loads(_campaign_of(page))["items"] == [[1, len(positions)]]
    assert [int(number) for number in re.findall(r'data-position="(\d+)"', page)] == positions
    text = read(client, f"{address}/items/1")["text"]
    client.put(f"{address}/items/1", json=work(text, text[:4], status="draft"))
    touched = {"position": 1, "status": "draft", "revision": 1}
    assert json.loads(_campaign_of(client.get(address).text))["items"] == [touched, [2, len(positions)]]
