"""All endings of a visit on each path: the last page, the report to the platform, and no way back into the work."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import func, select

from spanplat.models import Assignment, AssignmentStatus, Participation
from tests.browser.annotator.paths import CODES, PATHS, Direct, Path, Place
from tests.browser.annotator.person import OpenStudy
from tests.browser.conftest import LiveServer

COLOUR = {
    "label": "To show that you read this, choose blue.",
    "key": "colour",
    "type": "choice",
    "options": ["Blue", "Red"],
}
NUMBER = {"label": "And choose two here.", "key": "number", "type": "choice", "options": ["One", "Two"]}
STUDY: dict[str, Any] = {
    "consent": {"text": "We keep your marks."},
    "comprehension": {
        "questions": [{"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}]
    },
    "questions": [COLOUR, NUMBER],
    "checks": [
        {"name": "blue", "type": "instructed", "question": "colour", "answer": "blue", "on_fail": "screen_out"},
        {"name": "two", "type": "instructed", "question": "number", "answer": "two"},
    ],
    "annotators": {"per_output": 9, "withdrawn": "delete"},
}


def begin(place: Place) -> None:
    place.get_by_role("button", name="I agree").click()
    place.get_by_label("Errors").check()
    place.get_by_role("button", name="Check my answers").click()
    place.get_by_role("button", name="Start").click()


def answer(place: Place, colour: str, number: str) -> None:
    begin(place)
    place.get_by_label(colour).check()
    place.get_by_label(number).check()
    place.locator("#next").click()


def pass_(_path: Path, place: Place) -> None:
    answer(place, "Blue", "Two")
    place.get_by_role("button", name="Submit").click()


def fail(path: Path, place: Place) -> None:
    begin(place)
    place.get_by_label("Blue").check()
    expect(place.locator("#save-state")).to_have_attribute("data-state", "saved")
    path.page.reload()
    expect(place.get_by_label("Blue")).to_be_checked()
    place.get_by_label("One").check()
    place.locator("#next").click()
    place.get_by_role("button", name="Submit").click()


def be_screened_out(_path: Path, place: Place) -> None:
    answer(place, "Red", "Two")


def decline(_path: Path, place: Place) -> None:
    place.get_by_role("button", name="I do not agree").click()


def withdraw(_path: Path, place: Place) -> None:
    begin(place)
    place.get_by_label("Blue").check()
    place.get_by_role("button", name="Leave", exact=True).click()
    expect(place.get_by_text("Your answers are then deleted")).to_be_visible()
    place.get_by_role("button", name="Withdraw from the study").click()


def misread(_path: Path, place: Place) -> None:
    place.get_by_role("button", name="I agree").click()
    place.get_by_label("Names").check()
    place.get_by_role("button", name="Check my answers").dblclick()
    expect(place.get_by_text("you have 1 more try")).to_be_visible()
    place.get_by_label("Names").check()
    place.get_by_role("button", name="Check my answers").click()


ENDINGS: list[tuple[Callable[[Path, Place], None], str, str | None]] = [
    (pass_, "Thank you, your work was submitted", "completed"),
    (fail, "Thank you, your work was submitted", "failed_attention"),
    (be_screened_out, "The study ends here for you", "screened_out"),
    (decline, "You did not agree to take part", "no_consent"),
    (withdraw, "You withdrew from this study", "no_consent"),
    (misread, "The questions about the instructions were not answered correctly", None),
]


@pytest.mark.parametrize("way", PATHS)
def test_an_ending_is_reported_and_stays_what_it_is_after_back_reload_and_the_link_again(
    page: Page, new_page: Callable[..., Page], open_study: OpenStudy, live_server: LiveServer, way: type[Path]
) -> None:
    link = open_study("The pool is open all year.", platform=way.platform, **STUDY)
    path = way(page, link)
    for come_to_end, heading, outcome in ENDINGS:
        person = come_to_end.__name__
        place = path.come(person)
        come_to_end(path, place)
        ended = place.get_by_role("heading", name=heading)
        expect(ended).to_be_visible()
        moves: list[Callable[[], object]] = [
            lambda: go_back(page),
            page.reload,
            lambda person=person: path.come(person),  # type: ignore[misc]
        ]
        for move in moves:
            move()
            expect(ended).to_be_visible()
        unearned = {code for kind, code in CODES.items() if kind != outcome}
        assert not [code for code in unearned if code in path.content()]
        path.leads_on(place, outcome)
    with live_server.database.reading() as session:
        held = select(func.count()).where(Assignment.status == AssignmentStatus.HELD)
        assert session.scalar(held) == 0, "every seat is done or free again"
        assert session.scalar(select(func.count()).select_from(Participation)) == len(ENDINGS)
    share_the_link(path, new_page())


def go_back(page: Page) -> None:
    """Go back by one entry of the history, which may be one of a frame's."""
    with page.expect_event("framenavigated"):
        page.evaluate("setTimeout(() => history.back())")  # what asks for it has its answer before the page goes


def share_the_link(path: Path, elsewhere: Page) -> None:
    """A link with somebody's ids is theirs wherever it is opened; one without is for whoever opens it."""
    place = path.come("withdraw", page=elsewhere)
    expect(place.get_by_role("heading", name="You withdrew")).to_be_visible()
    place = path.come("" if isinstance(path, Direct) else "somebody else", page=elsewhere)
    expect(place.get_by_role("button", name="I agree and want to take part")).to_be_visible()
