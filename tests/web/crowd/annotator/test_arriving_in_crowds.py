"""Rate limit of new arrivals from one network: the limit, who is counted, and the message to the others."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from spanplat.db import Database
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.participation import invite
from spanplat.settings import Settings
from spanplat.web.app import create_app
from tests.platforms.test_signatures import AUDIENCE, KEY, key_set
from tests.services.crowd.test_annotating import NOW
from tests.web.crowd.annotator.test_entering import participations

OpenStudy = Callable[..., None]
DIRECT = {"service": "direct", "ask_name": True}


@pytest.fixture
def visit(sqlite_database: Database, web_home: Path) -> Callable[..., TestResponse]:
    """Open the start link of a server behind a proxy, where two new people may come in each minute from one address."""
    settings = Settings(home=web_home, base_url="https://study.example.org", arrivals_per_minute=2, _env_file=None)
    client: FlaskClient = create_app(settings, sqlite_database).test_client()

    def open_link(person: str = "", address: str = "192.0.2.1", **query: str) -> TestResponse:
        parameters = ({"annotator": person} if person else {}) | query
        headers = {"X-Forwarded-For": address, "X-Forwarded-Proto": "https"}
        return client.get("/c/study/start", query_string=parameters, headers=headers)

    return open_link


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The database behind the server."""
    return sqlite_database


def test_more_new_people_than_that_are_asked_to_wait_and_take_no_seat(
    visit: Callable[..., TestResponse], database: Database, open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9})
    assert [visit(person).status_code for person in ("ann", "bob", "eve", "eve")] == [303, 303, 429, 429]
    assert participations(database) == 2
    refused = visit("eve")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert "open the link again in a minute" in refused.text
    assert "return the study" not in refused.text, "they are wanted"
    assert "Set-Cookie" not in refused.headers


def test_who_came_before_comes_back_however_many_others_come(
    visit: Callable[..., TestResponse], open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9})
    first = visit("ann").location
    visit("bob")
    assert visit("eve").status_code == 429
    assert [visit("ann").location for _ in range(5)] == [first] * 5


def test_people_behind_the_proxy_are_told_apart_and_a_forged_header_makes_nobody_another(
    visit: Callable[..., TestResponse], open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9})
    assert [visit(person).status_code for person in ("ann", "bob", "eve")] == [303, 303, 429]
    assert visit("joe", "192.0.2.2").status_code == 303
    for number in range(3):  # the proxy puts the address that it sees behind what it was sent
        assert visit("eve", f"203.0.113.{number}, 192.0.2.1").status_code == 429


def test_the_addresses_of_one_network_count_as_one(visit: Callable[..., TestResponse], open_study: OpenStudy) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9})
    addresses = ("2001:db8:1:1::1", "2001:db8:1:1:ffff::2", "2001:db8:1:1::3")
    assert [visit(f"p{address}", address).status_code for address in addresses] == [303, 303, 429]
    assert visit("joe", "2001:db8:1:2::1").status_code == 303


def test_asking_for_the_name_and_personal_links_are_not_counted(
    visit: Callable[..., TestResponse], database: Database, open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9})
    with database.transaction() as session:
        links = [invite(session, find_campaign(session, "study"), f"guest-{n}", NOW) for n in range(4)]
    assert [visit().status_code for _ in range(4)] == [200] * 4
    assert [visit(invitation=link).status_code for link in links] == [303] * 4
    assert [visit(person).status_code for person in ("ann", "bob", "eve")] == [303, 303, 429]


def test_who_comes_by_a_signed_link_is_not_counted(visit: Callable[..., TestResponse], open_study: OpenStudy) -> None:
    open_study(
        platform={"service": "prolific", "signed": {"audience": AUDIENCE, "keys": key_set()}},
        annotators={"per_output": 9},
    )
    for number in range(4):
        ids = {"PROLIFIC_PID": f"p{number}", "STUDY_ID": "study", "SESSION_ID": f"s{number}"}
        claims: dict[str, Any] = {"aud": AUDIENCE, "exp": time.time() + 3600, "prolific": ids}
        token = jwt.encode(claims, KEY, algorithm="RS256", headers={"kid": "k1"})
        assert visit(**ids, prolific_token=token).status_code == 303


def test_they_are_asked_to_wait_in_the_language_of_the_campaign(
    visit: Callable[..., TestResponse], open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT, annotators={"per_output": 9}, language="de")
    refused = [visit(person) for person in ("ann", "bob", "eve")][-1]
    assert refused.status_code == 429
    assert "Bitte warten Sie einen Moment" in refused.text
    assert "in einer Minute" in refused.text


def test_while_redis_is_away_people_come_in_and_their_work_is_saved(
    database: Database, web_home: Path, open_study: OpenStudy
) -> None:
    open_study(platform=DIRECT)
    nobody_listens = "redis://127.0.0.1:1/0"
    client = create_app(Settings(home=web_home, redis_url=nobody_listens, _env_file=None), database).test_client()
    work = client.get("/c/study/start?annotator=ann").location
    for revision in range(2):
        saved = client.put(f"{work}/items/1", json={"revision": revision, "status": "draft"})
        assert (saved.status_code, saved.json) == (200, {"revision": revision + 1})
