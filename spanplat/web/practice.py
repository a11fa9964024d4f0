"""The routes of practice: the annotator's page on one practice item, and then what was expected of it."""

from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify, redirect, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Gone, SpanplatError, say
from spanplat.services.participation import Stage, Visit, find_alone, find_visit, take_seat
from spanplat.services.practice import (
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
from spanplat.services.withdrawing import withdraw
from spanplat.web.annotator_page import page_language
from spanplat.web.annotator_stages import Visitor, feedback_page, item_data, marking_page
from spanplat.web.policy import policy
from spanplat.web.session import reading, transaction
from spanplat.web.sources import chart_of, example_chart
from spanplat.web.submissions import read_submission
from spanplat.web.turning_away import turned_away

blueprint = Blueprint("practice", __name__, url_prefix="/a/<token>/practice/<int:number>")
blueprint.register_error_handler(SpanplatError, turned_away)


def practice_page(visit: Visit) -> str:
    """Show the practice item that comes next, or the feedback on one just answered."""
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
    """Lead to the page of the stage the visit is in."""
    del number
    return _to_work(token)


@blueprint.get("/items")
@policy("annotator-token")
def items(token: str, number: int) -> Response:
    """List the one item there is."""
    return jsonify([practice_state(_at(find_visit(reading(), token), number).participation, number)])


@blueprint.get("/items/1")
@policy("annotator-token")
def item(token: str, number: int) -> Response:
    """Give the practice item with what was marked on it so far."""
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
    """Draw a chart of a worked example in the instructions, which stand on the page of a practice item too."""
    return example_chart(_at(find_visit(reading(), token), number).definition, example, chart)


@blueprint.put("/items/1")
@policy("annotator-token")
def save(token: str, number: int) -> Response:
    """Keep one save."""
    submission = read_submission()
    with transaction() as session:
        visit = _at(find_alone(session, token), number)
        saved = save_practice(session, visit.definition, visit.participation, number, submission)
    return jsonify(revision=saved.revision)


@blueprint.post("/presence")
@policy("annotator-token")
def presence(token: str, number: int) -> tuple[str, int]:
    """Hold the place of somebody who is at work on a practice item."""
    with transaction() as session:
        _at(take_seat(session, token, datetime.now(UTC)), number)
    return "", 204


@blueprint.post("/submit")
@policy("annotator-token")
def submit(token: str, number: int) -> AnyResponse:
    """Answer the item; its feedback comes next."""
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
        if visit.stage == Stage.PRACTICE:
            go_on(session, visit.definition, visit.participation, number, datetime.now(UTC))
            take_seat(session, token, datetime.now(UTC))
    return _to_work(token)


@blueprint.post("/withdraw")
@policy("annotator-token")
def withdraw_consent(token: str, number: int) -> AnyResponse:
    """End the visit at the annotator's wish."""
    del number
    with transaction() as session:
        withdraw(session, token)
    return _to_work(token)


def _at(visit: Visit, number: int) -> Visit:
    """Insist on a visit that is at this practice item: neither an earlier nor a later one can be asked for."""
    if visit.stage != Stage.PRACTICE or practice_number(visit.definition, visit.participation) != number:
        raise Gone(say("this practice item is not the one you are at; reload the page to go on"))
    return visit


def _to_work(token: str) -> AnyResponse:
    return redirect(url_for("annotator.work", token=token), 303)
