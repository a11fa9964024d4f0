"""Routes of practice: the annotation page of a practice item, and then its feedback."""

from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify, redirect, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Gone, SpanplatError, user_message
from spanplat.services.crowd.participation import Stage, Visit, find_alone, find_visit, take_seat
from spanplat.services.crowd.practice import (
    answer_practice,
    feedback_on,
    go_on,
    is_answered,
    practice_number,
    practice_source,
    practice_state,
    save_practice,
    show_practice,
)
from spanplat.services.crowd.withdrawing import withdraw
from spanplat.web.crowd.annotator_page import page_language
from spanplat.web.crowd.annotator_stages import Visitor, feedback_page, item_data, marking_page
from spanplat.web.crowd.refusals import turned_away
from spanplat.web.crowd.submissions import read_submission
from spanplat.web.policy import policy
from spanplat.web.session import reading, transaction
from spanplat.web.sources import chart_of, example_chart

blueprint = Blueprint("practice", __name__, url_prefix="/a/<token>/practice/<int:number>")
blueprint.register_error_handler(SpanplatError, turned_away)


def practice_page(visit: Visit) -> str:
    """Show the next practice item, or the feedback on the item that was just answered."""
    definition, participation = visit.definition, visit.participation
    number = practice_number(definition, participation)
    base = url_for("annotator.work", token=participation.token)
    if is_answered(participation, number):
        return feedback_page(Visitor(definition, base), feedback_on(reading(), definition, participation, number))
    visitor = Visitor(definition, f"{base}/practice/{number}", participation.group)
    current = show_practice(reading(), definition, participation, number)
    return marking_page(visitor, [practice_state(participation, number)], current, practice=number)


@blueprint.get("")
@policy("annotator-token")
def show(token: str, number: int) -> AnyResponse:
    """Redirect to the page of the visit's current stage."""
    del number
    return _to_work(token)


@blueprint.get("/items")
@policy("annotator-token")
def items(token: str, number: int) -> Response:
    """List the only item."""
    return jsonify([practice_state(_at(find_visit(reading(), token), number).participation, number)])


@blueprint.get("/items/1")
@policy("annotator-token")
def item(token: str, number: int) -> Response:
    """Return the practice item with the annotator's work on it."""
    visit = _at(find_visit(reading(), token), number)
    shown = show_practice(reading(), visit.definition, visit.participation, number)
    return jsonify(item_data(visit.definition, shown, page_language(visit.definition)))


@blueprint.get("/items/1/charts/<int:chart>")
@policy("annotator-token")
def source_chart(token: str, number: int, chart: int) -> Response:
    """Draw a chart of the practice item's source."""
    visit = _at(find_visit(reading(), token), number)
    return chart_of(visit.definition, practice_source(reading(), visit.definition, number), chart)


@blueprint.get("/examples/<int:example>/charts/<int:chart>")
@policy("annotator-token")
def worked_example_chart(token: str, number: int, example: int, chart: int) -> Response:
    """Draw a chart of a worked example in the instructions, which a practice page contains too."""
    return example_chart(_at(find_visit(reading(), token), number).definition, example, chart)


@blueprint.put("/items/1")
@policy("annotator-token")
def save(token: str, number: int) -> Response:
    """Store one save."""
    submission = read_submission()
    with transaction() as session:
        visit = _at(find_alone(session, token), number)
        saved = save_practice(session, visit.definition, visit.participation, number, submission)
    return jsonify(revision=saved.revision)


@blueprint.post("/presence")
@policy("annotator-token")
def presence(token: str, number: int) -> tuple[str, int]:
    """Hold the seat of an annotator who works on a practice item."""
    with transaction() as session:
        _at(take_seat(session, token, datetime.now(UTC)), number)
    return "", 204


@blueprint.post("/submit")
@policy("annotator-token")
def submit(token: str, number: int) -> AnyResponse:
    """Submit the practice item; its feedback comes next."""
    with transaction() as session:
        visit = _at(find_alone(session, token), number)
        answer_practice(session, visit.participation, number)
    return _to_work(token)


@blueprint.post("/continue")
@policy("annotator-token")
def leave_feedback(token: str, number: int) -> AnyResponse:
    """Go on to the next practice item, or to the work."""
    with transaction() as session:
        visit = find_alone(session, token)
        # A second click finds the visit at the next stage, and must not skip anything.
        if visit.stage == Stage.PRACTICE:
            go_on(session, visit.definition, visit.participation, number, datetime.now(UTC))
            take_seat(session, token, datetime.now(UTC))
    return _to_work(token)


@blueprint.post("/withdraw")
@policy("annotator-token")
def withdraw_consent(token: str, number: int) -> AnyResponse:
    """Withdraw the annotator's consent and end the visit."""
    del number
    with transaction() as session:
        withdraw(session, token)
    return _to_work(token)


def _at(visit: Visit, number: int) -> Visit:
    """Return the visit if it is at this practice item; refuse earlier and later items."""
    if visit.stage != Stage.PRACTICE or practice_number(visit.definition, visit.participation) != number:
        raise Gone(user_message("this practice item is not the one you are at; reload the page to go on"))
    return visit


def _to_work(token: str) -> AnyResponse:
    return redirect(url_for("annotator.work", token=token), 303)
