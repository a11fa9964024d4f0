"""Entering over HTTP: MTurk's frame and preview, signed and personal links, practice, screening out."""

import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from flask.testing import FlaskClient
from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Participation
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.participation import invite
from tests.platforms.test_signatures import AUDIENCE, KEY, key_set
from tests.services.crowd.test_annotating import NOW
from tests.services.crowd.test_claims import at_once

OpenStudy = Callable[..., None]
Arrive = Callable[..., str]

MTURK = {"workerId": "ann", "hitId": "hit", "assignmentId": "as1", "turkSubmitTo": "https://workersandbox.mturk.com"}
ITEM = {"split": "test", "example": "0", "system": "alder"}


def csp(response: Any) -> dict[str, str]:
    policy = response.headers["Content-Security-Policy"]
    return {name: value for name, _, value in (part.strip().partition(" ") for part in policy.split(";"))}


def participations(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(Participation)) or 0


def test_mturk_and_nobody_else_may_frame_its_campaigns_and_get_their_form(
    client: FlaskClient, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "mturk", "codes": {"completed": "DONE123"}})
    address = client.get("/c/study/start", query_string=MTURK).location
    page = client.get(address)
    for policy in ("frame-ancestors", "form-action"):
        hosts = set(csp(page)[policy].split()) - {"'self'"}
        assert "https://workersandbox.mturk.com" in hosts
        assert all(host.startswith("https://") and host.endswith(".mturk.com") for host in hosts)
    assert "X-Frame-Options" not in page.headers
    assert "'unsafe" not in page.headers["Content-Security-Policy"]


def test_campaigns_of_other_platforms_are_framed_by_nobody(
    client: FlaskClient, open_study: OpenStudy, arrive: Arrive
) -> None:
    open_study()
    page = client.get(arrive())
    assert csp(page)["frame-ancestors"] == "'none'"
    assert csp(page)["form-action"] == "'self'"
    assert page.headers["X-Frame-Options"] == "DENY"


def test_a_preview_shows_the_instructions_and_claims_nothing(
    client: FlaskClient, database: Database, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "mturk"}, guidelines="Mark **every** error.")
    page = client.get("/c/study/start", query_string={"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "hit"})
    assert page.status_code == 200
    assert "Mark <strong>every</strong> error." in page.text
    assert "frame-ancestors https://www.mturk.com" in page.headers["Content-Security-Policy"]
    assert participations(database) == 0


def test_finished_work_is_posted_back_to_mturk_with_its_assignment(client: FlaskClient, open_study: OpenStudy) -> None:
    open_study(platform={"service": "mturk"})
    address = client.get("/c/study/start", query_string=MTURK).location
    for position in (1, 2):
        client.put(f"{address}/items/{position}", json={"revision": 0, "status": "complete", "spans": []})
    done = client.post(f"{address}/submit").text
    assert '<form method="post" action="https://workersandbox.mturk.com/mturk/externalSubmit">' in done
    assert 'name="assignmentId" value="as1"' in done


def test_a_full_campaign_says_so_inside_the_frame_too(client: FlaskClient, open_study: OpenStudy) -> None:
    open_study(platform={"service": "mturk"})
    client.get("/c/study/start", query_string=MTURK)
    full = client.get("/c/study/start", query_string=MTURK | {"workerId": "bob", "assignmentId": "as2"})
    assert full.status_code == 409
    assert "https://worker.mturk.com" in csp(full)["frame-ancestors"]


def test_only_signed_links_let_in_where_links_are_signed(
    client: FlaskClient, database: Database, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "prolific", "signed": {"audience": AUDIENCE, "keys": key_set()}})
    ids = {"PROLIFIC_PID": "ann", "STUDY_ID": "study", "SESSION_ID": "session"}
    refused = client.get("/c/study/start", query_string=ids)
    assert (refused.status_code, participations(database)) == (403, 0)
    assert "this one is not signed" in refused.text
    claims = {"aud": AUDIENCE, "exp": time.time() + 60, "prolific": ids}
    token = jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": "k1"})
    assert client.get("/c/study/start", query_string=ids | {"prolific_token": token}).status_code == 303
    stolen = client.get("/c/study/start", query_string=ids | {"PROLIFIC_PID": "bob", "prolific_token": token})
    assert (stolen.status_code, participations(database)) == (403, 1)
    with database.reading() as session:
        assert token not in str(session.scalars(select(Participation.parameters)).all()), "the token is not kept"


def test_only_personal_links_let_in_where_links_are_personal(
    client: FlaskClient, database: Database, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "direct", "personal_links": True})
    with database.transaction() as session:
        token = invite(session, find_campaign(session, "study"), "ann", NOW)
    assert client.get("/c/study/start", query_string={"annotator": "ann"}).status_code == 403
    assert client.get("/c/study/start", query_string={"invitation": "guess"}).status_code == 404
    came = client.get("/c/study/start", query_string={"invitation": token})
    assert (came.status_code, came.location) == (303, f"/a/{token}")
    assert client.get(came.location).status_code == 200
    assert participations(database) == 1


def test_a_name_that_has_a_personal_link_opens_nothing_by_itself(
    client: FlaskClient, database: Database, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "direct", "ask_name": True})
    with database.transaction() as session:
        token = invite(session, find_campaign(session, "study"), "ann", NOW)
    guessed = client.get("/c/study/start", query_string={"annotator": "ann"})
    assert guessed.status_code == 403
    assert "has a personal link" in guessed.text
    assert token not in guessed.text
    assert client.get("/c/study/start", query_string={"invitation": token}).location == f"/a/{token}"


@pytest.fixture
def practising(client: FlaskClient, open_study: OpenStudy, arrive: Arrive) -> str:
    """Come to a campaign whose first text is practice; returns the address of the page."""
    gold = [[{"category": "wrong", "quote": "falls"}]]
    open_study(
        practice=[{"item": ITEM, "golds": gold, "explanation": "Rain *falls*, nobody doubts it."}],
        batches={"regular": 1},
    )
    del client
    return arrive()


def test_practice_is_marked_answered_explained_and_followed_by_the_work(client: FlaskClient, practising: str) -> None:
    page = client.get(practising)
    assert "nobody doubts it" not in page.text
    item = client.get(f"{practising}/practice/1/items/1").json
    assert item is not None
    assert "nobody doubts it" not in str(item)
    assert client.get(f"{practising}/items").status_code == 404, "no work before practice is over"
    start = item["text"].index("falls")
    span = {"start": start, "end": start + 5, "category": "wrong", "text": "falls"}
    body = {"revision": 0, "status": "complete", "spans": [span]}
    assert client.put(f"{practising}/practice/1/items/1", json=body).json == {"revision": 1}
    assert client.get(f"{practising}/practice/2/items/1").status_code == 410
    assert client.post(f"{practising}/practice/1/submit").location == practising
    feedback = client.get(practising).text
    assert "Exactly as expected." in feedback
    assert "Rain <em>falls</em>, nobody doubts it." in feedback
    assert client.post(f"{practising}/practice/1/continue").location == practising
    assert [entry["position"] for entry in client.get(f"{practising}/items").json or []] == [1]
    assert client.get(f"{practising}/practice/1/items/1").status_code == 410


def test_nobody_reaches_feedback_gold_or_another_practice_item_before_answering(
    client: FlaskClient, practising: str
) -> None:
    for method, path in (("post", "practice/1/submit"), ("post", "practice/1/continue"), ("get", "practice/1")):
        response = getattr(client, method)(f"{practising}/{path}", follow_redirects=True)
        assert "nobody doubts it" not in response.text
    assert client.get(f"{practising}/practice/0/items/1").status_code == 410
    assert client.get(f"{practising}/practice/9/items/1").status_code == 410


def test_a_screened_out_worker_gets_the_code_for_it_and_nothing_else(
    client: FlaskClient, open_study: OpenStudy, arrive: Arrive
) -> None:
    check = {
        "name": "blatant",
        "type": "must_mark",
        "item": ITEM,
        "expected": {"quote": "falls", "category": "wrong"},
        "on_fail": "screen_out",
        "message": "Thank you for trying.",
    }
    open_study(
        checks=[check],
        batches={"regular": 1, "attention": 1},
        platform={"service": "prolific", "codes": {"completed": "DONE123", "screened_out": "OUT123"}},
    )
    address = arrive()
    texts = {position: (client.get(f"{address}/items/{position}").json or {})["text"] for position in (1, 2)}
    checked = next(position for position, text in texts.items() if "falls" in text)
    assert "OUT123" not in client.get(address).text
    body = {"revision": 0, "status": "complete", "spans": []}
    for _ in range(2):
        assert client.put(f"{address}/items/{checked}", json=body).json == {"revision": 1, "ended": True}
    assert client.put(f"{address}/items/{3 - checked}", json=body).status_code == 410
    page = client.get(address).text
    assert "Thank you for trying." in page
    assert "OUT123" in page
    assert "DONE123" not in page
    assert client.post(f"{address}/submit").text.count("DONE123") == 0


def test_a_further_try_that_is_stopped_shows_why_and_the_code_that_the_first_one_earned(
    client: FlaskClient, open_study: OpenStudy, arrive: Arrive
) -> None:
    gold = {"name": "gold", "type": "gold", "item": ITEM, "golds": [[{"category": "wrong", "quote": "falls"}]]}
    clean = {"name": "clean", "type": "must_abstain", "item": ITEM | {"example": "1"}, "on_fail": "screen_out"}
    open_study(
        kind="qualification",
        checks=[gold, clean | {"message": "Thank you for trying."}],
        batches={"regular": 0, "gold": 1, "attention": 1},
        annotators={"per_output": 4},
        qualification_given={"attempts": 2, "fail_code": "FAIL123"},
        platform={"service": "prolific", "codes": {"completed": "DONE123", "screened_out": "OUT123"}},
    )
    address = arrive()
    for position in (1, 2):
        client.put(f"{address}/items/{position}", json={"revision": 0, "status": "complete", "spans": []})
    assert "cc=FAIL123" in client.post(f"{address}/submit").text
    assert client.post(f"{address}/again").status_code == 303
    texts = {position: (client.get(f"{address}/items/{position}").json or {})["text"] for position in (1, 2)}
    checked = next(position for position, text in texts.items() if text == "It is dry.")
    span = {"start": 0, "end": 2, "category": "wrong", "text": "It"}
    body = {"revision": 0, "status": "complete", "spans": [span]}
    assert client.put(f"{address}/items/{checked}", json=body).json == {"revision": 1, "ended": True}
    page = client.get(address).text
    assert "The last try has ended. Thank you for trying. This is no rejection of your work." in page
    assert "cc=FAIL123" in page
    assert "OUT123" not in page
    assert "Try once more" not in page
    assert client.put(f"{address}/items/{3 - checked}", json=body | {"spans": []}).status_code == 410


def test_a_page_whose_work_went_on_by_another_link_says_so_and_leads_back_to_it(
    client: FlaskClient, open_study: OpenStudy, arrive: Arrive
) -> None:
    open_study()
    first, second = arrive(), arrive(SESSION_ID="other")
    left = client.get(first)
    assert left.status_code == 410
    assert "Your work is not on this page" in left.text
    assert "ran out" not in left.text
    body = {"revision": 0, "status": "complete", "spans": []}
    assert client.put(f"{first}/items/1", json=body).status_code == 410
    assert client.put(f"{second}/items/1", json=body).status_code == 200
    back = client.get(f"/c/study/start?invitation={first.rpartition('/')[2]}")
    assert back.location == first
    assert [item["status"] for item in client.get(f"{first}/items").json or []] == ["complete", "new"]


def test_a_warning_comes_with_the_acknowledgement(client: FlaskClient, open_study: OpenStudy, arrive: Arrive) -> None:
    check = {"name": "fast", "type": "min_seconds", "seconds": 5, "on_fail": "warn", "message": "Take your time."}
    open_study(checks=[check])
    body = {"revision": 0, "status": "complete", "spans": [], "seconds": 1.5}
    assert client.put(f"{arrive()}/items/1", json=body).json == {"revision": 1, "warning": "Take your time."}


def test_an_answered_practice_item_stays_answered_whatever_is_saved_at_the_same_moment(
    client: FlaskClient, open_study: OpenStudy, arrive: Arrive
) -> None:
    open_study(practice=[{"item": ITEM, "golds": [[]]}], batches={"regular": 1}, annotators={"per_output": 9})
    for number in range(6):
        base = f"{arrive(PROLIFIC_PID=f'p{number}', SESSION_ID=f's{number}')}/practice/1"
        client.put(f"{base}/items/1", json={"revision": 0, "status": "complete"})

        def act(which: int, base: str = base) -> int:
            own = client.application.test_client()
            again = {"revision": 1, "status": "complete", "seconds": 9}
            return (own.put(f"{base}/items/1", json=again) if which else own.post(f"{base}/submit")).status_code

        assert at_once(2, act)[0] == 303
        assert "You marked nothing." in client.get(base, follow_redirects=True).text


def test_who_is_turned_away_at_a_later_step_is_told_so_inside_mturks_frame(
    client: FlaskClient, open_study: OpenStudy
) -> None:
    open_study(platform={"service": "mturk"}, practice=[{"item": ITEM, "golds": [[]]}], batches={"regular": 1})
    address = client.get("/c/study/start", query_string=MTURK).location
    for refused in (client.post(f"{address}/practice/1/submit"), client.get("/a/unknown")):
        assert refused.status_code >= 400
    assert "https://worker.mturk.com" in csp(client.post(f"{address}/practice/1/submit"))["frame-ancestors"]
    assert csp(client.get("/a/unknown"))["frame-ancestors"] == "'none'"


def test_what_is_missing_is_told_inside_mturks_frame(client: FlaskClient, open_study: OpenStudy) -> None:
    open_study(platform={"service": "mturk"})
    missing = client.post(client.get("/c/study/start", query_string=MTURK).location + "/submit")
    assert missing.status_code == 409
    assert "https://worker.mturk.com" in csp(missing)["frame-ancestors"]
