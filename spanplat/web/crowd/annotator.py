"""Routes of annotators: the start link, the pages of a visit, saves and submission.

The unguessable token in the address is the annotator's only credential. No route here reads or sets a cookie.
"""

from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, jsonify, make_response, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Gone, NotAllowed, NotFound, SpanplatError, user_message
from spanplat.platforms.arrivals import read_arrival
from spanplat.platforms.platform import Departure
from spanplat.platforms.signatures import require_signature
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.crowd.check_results import screen_out_message
from spanplat.services.crowd.leases import hold_seat
from spanplat.services.crowd.pages import find_work_seat, list_items, show_item
from spanplat.services.crowd.participation import (
    Stage,
    Visit,
    answer_comprehension,
    enter,
    enter_by_invitation,
    find_open_to_people,
    find_participation,
    find_visit,
    give_consent,
    try_again,
    verdict_of,
    way_back,
)
from spanplat.services.crowd.pay import has_earned_bonus
from spanplat.services.crowd.saving import KeptAsLate, save_item
from spanplat.services.crowd.submitting import Incomplete, submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from spanplat.web import locale
from spanplat.web.crowd.annotator_page import page_language
from spanplat.web.crowd.annotator_stages import (
    Visitor,
    WorkResult,
    comprehension_page,
    consent_page,
    done_page,
    instructions,
    item_data,
    work_page,
)
from spanplat.web.crowd.practice import practice_page
from spanplat.web.crowd.refusals import allow_platform_frames, spoken_to, turned_away
from spanplat.web.crowd.submissions import read_submission
from spanplat.web.limits import limit_arrivals
from spanplat.web.policy import policy
from spanplat.web.session import database, forget_snapshot, reading, transaction
from spanplat.web.sources import chart_of, example_chart

blueprint = Blueprint("annotator", __name__)
blueprint.register_error_handler(SpanplatError, turned_away)


@blueprint.get("/c/<slug>/start")
@policy("public")
def start(slug: str) -> AnyResponse | str:
    """Create or find the participation and redirect to its page."""
    campaign = find_open_to_people(reading(), slug)
    definition = definition_of(campaign)
    allow_platform_frames(definition)
    if invitation := request.args.get("invitation"):
        # The campaign is read again in the transaction: it may have been closed since the snapshot.
        with transaction() as session:
            enter_by_invitation(session, find_open_to_people(session, slug), invitation, _now())
        return _to_work(invitation)
    if definition.platform.personal_links:
        raise NotAllowed(user_message("this study is open by personal links only; please use the one you were sent"))
    if definition.platform.ask_name and not request.args.get("annotator", "").strip():
        return Visitor(definition, "").page("name.html")
    arrival = read_arrival(definition.platform, request.args)
    # The person has not accepted the task yet, so no participation is created and no seat is held.
    if arrival.preview:
        # The charts of worked examples are beside the start link, because there is no token yet.
        base = url_for("annotator.start", slug=slug).removesuffix("/start")
        visitor = Visitor(definition, base)
        return visitor.page("preview.html", **instructions(visitor))
    if definition.platform.signed is not None:
        require_signature(definition.platform.signed, request.args, arrival)
    elif find_participation(reading(), campaign, arrival) is None:  # without a signature anybody can invent ids
        limit_arrivals()
    forget_snapshot()  # otherwise each of many simultaneous arrivals would hold two connections
    with transaction() as session:
        visit = enter(session, find_open_to_people(session, slug), arrival, _now())
    return _to_work(visit.participation.token)


@blueprint.get("/c/<slug>/examples/<int:example>/charts/<int:number>")
@policy("public")
def previewed_example_chart(slug: str, example: int, number: int) -> Response:
    """Draw a chart of a worked example for the preview that a platform shows before the task is accepted."""
    definition = definition_of(find_open_to_people(reading(), slug))
    if not definition.platform.profile.has_preview:
        raise NotFound(f"campaign {slug!r} has no preview of its task, only the pages of those who take part")
    return example_chart(definition, example, number)


@blueprint.get("/a/<token>")
@policy("annotator-token")
def work(token: str) -> AnyResponse | str:
    """Show the page of the visit's current stage."""
    return _stage_page(find_visit(reading(), token))


@blueprint.post("/a/<token>/consent")
@policy("annotator-token")
def consent(token: str) -> AnyResponse:
    """Record the decision on the consent form."""
    agreed, version = request.form.get("agreed") == "yes", request.form.get("version")
    with transaction() as session:
        visit = give_consent(session, token, agreed=agreed, now=_now(), version=version)
    # Still the same stage: the form was amended while it was read, so the new text is shown.
    if visit.stage == Stage.CONSENT:
        return make_response(consent_page(_visitor(visit), changed=True), 409)
    return _to_work(token)


@blueprint.post("/a/<token>/comprehension")
@policy("annotator-token")
def comprehension(token: str) -> AnyResponse:
    """Check the answers about the instructions."""
    with transaction() as session:
        answer_comprehension(session, token, request.form, _now(), attempt=request.args.get("attempt", type=int))
    return _to_work(token)


@blueprint.post("/a/<token>/withdraw")
@policy("annotator-token")
def withdraw_consent(token: str) -> AnyResponse:
    """Withdraw the annotator's consent and end the visit."""
    with transaction() as session:
        withdraw(session, token)
    return _to_work(token)


@blueprint.post("/a/<token>/again")
@policy("annotator-token")
def again(token: str) -> AnyResponse:
    """Start another try of a failed qualification, if one is left."""
    with transaction() as session:
        try_again(session, token, _now())
    return _to_work(token)


@blueprint.get("/a/<token>/items")
@policy("annotator-token")
def items(token: str) -> Response:
    """List the items of the batch with their states."""
    return jsonify(list_items(reading(), find_work_seat(reading(), token)))


@blueprint.get("/a/<token>/items/<int:position>")
@policy("annotator-token")
def item(token: str, position: int) -> Response:
    """Return one item with the annotator's work on it."""
    seat = find_work_seat(reading(), token)
    shown = show_item(reading(), seat.definition, seat, position)
    return jsonify(item_data(seat.definition, shown, page_language(seat.definition)))


@blueprint.get("/a/<token>/items/<int:position>/charts/<int:number>")
@policy("annotator-token")
def source_chart(token: str, position: int, number: int) -> Response:
    """Draw a chart of an item's source."""
    seat = find_work_seat(reading(), token)
    return chart_of(seat.definition, show_item(reading(), seat.definition, seat, position)["source"], number)


@blueprint.get("/a/<token>/examples/<int:example>/charts/<int:number>")
@policy("annotator-token")
def worked_example_chart(token: str, example: int, number: int) -> Response:
    """Draw a chart of a worked example in the instructions."""
    return example_chart(find_visit(reading(), token).definition, example, number)


@blueprint.put("/a/<token>/items/<int:position>")
@policy("annotator-token")
def save(token: str, position: int) -> tuple[Response, int]:
    """Store one save. The answer is sent after the data is on disk."""
    submission = read_submission()
    try:
        saved = save_item(database(), token, position, submission, _now())
    except KeptAsLate as error:  # the work is stored, so the page must not send it again
        with spoken_to(token=token):
            return jsonify(error=locale.translate(error.user_message), kept=True), 410
    answer: dict[str, Any] = {"revision": saved.revision}
    if saved.ended:
        answer["ended"] = True
    if saved.warnings:
        with spoken_to(token=token):
            answer["warning"] = " ".join(locale.translate(warning) for warning in saved.warnings)
    return jsonify(answer), 200


@blueprint.post("/a/<token>/presence")
@policy("annotator-token")
def presence(token: str) -> tuple[str, int]:
    """Extend the lease of an annotator who works but has nothing to save, because they read."""
    seat = find_work_seat(reading(), token)
    forget_snapshot()  # waiting for the write lock with one connection, not two
    with transaction() as session:
        if not hold_seat(session, seat.id, seat.definition, _now()):
            raise Gone(user_message("the place went to somebody else while you were away; what you did is kept"))
    return "", 204


@blueprint.post("/a/<token>/submit")
@policy("annotator-token")
def submit(token: str) -> AnyResponse | str:
    """Submit the batch and show the last page; a repeated request shows the same page."""
    try:
        visit = submit_batch(database(), token, _now())
    except Incomplete as error:
        page = _visitor(find_visit(reading(), token)).page("incomplete.html", message=error.user_message)
        return make_response(page, 409)
    return _stage_page(visit)


@blueprint.get("/a/<token>/submit")
@policy("annotator-token")
def reloaded_submit(token: str) -> AnyResponse:
    """Redirect to the current page when somebody opens the address of the last page again."""
    return _to_work(token)


def _stage_page(visit: Visit) -> AnyResponse | str:
    visitor = _visitor(visit)
    match visit.stage:
        case Stage.CONSENT:
            return consent_page(visitor)
        case Stage.COMPREHENSION:
            return comprehension_page(visitor, visit.participation.comprehension_attempts)
        case Stage.PRACTICE:
            return practice_page(visit)
        case Stage.DONE:
            return done_page(visitor, way_back(visit), _result(visit))
        case Stage.ENDED:
            message = screen_out_message(reading(), visit.definition, visit.assignment)
            reason = visit.participation.ended
            return visitor.page("ended.html", reason=reason, message=message, departure=way_back(visit))
        case Stage.WORK if visit.assignment is not None:
            return work_page(visitor, visit.assignment)
        case _:
            again = url_for("annotator.start", slug=visit.campaign.slug, invitation=visit.participation.token)
            minutes = visit.definition.annotators.lease_minutes
            reason = "lapsed" if visit.assignment is not None else "elsewhere"
            page = visitor.page("ended.html", reason=reason, departure=Departure(), minutes=minutes, start_again=again)
            return make_response(page, 410)


def _result(visit: Visit) -> WorkResult:
    assignment = visit.assignment
    return WorkResult(
        verdict=verdict_of(visit),
        may_try_again=visit.may_try_again,
        left_a_try=visit.left_a_try,
        was_stopped=visit.stopped_try is not None,
        stopping_message=screen_out_message(reading(), visit.definition, visit.stopped_try),
        failed_attention=assignment is not None and assignment.outcome == "failed_attention",
        earned_bonus=has_earned_bonus(reading(), visit.definition, assignment) if assignment is not None else None,
    )


def _visitor(visit: Visit) -> Visitor:
    """Return the visitor of a visit, and allow the platform's frames."""
    allow_platform_frames(visit.definition)
    base = _base(visit.participation.token)
    return Visitor(visit.definition, base, visit.participation.group, is_further_try=visit.is_further_try)


def _base(token: str) -> str:
    return url_for("annotator.work", token=token)


def _to_work(token: str) -> AnyResponse:
    return redirect(_base(token), 303)


def _now() -> datetime:
    return datetime.now(UTC)
