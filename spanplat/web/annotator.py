"""The annotator's routes: from the start link to the page, its saves, and the way back.

The unguessable token in the address is the annotator's only credential; nothing here reads or sets a cookie.
"""

from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, make_response, redirect, render_template, request, url_for
from flask_babel import force_locale
from flask_babel import gettext as _
from jinja2.utils import htmlsafe_json_dumps
from pydantic import ValidationError
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import Gone, InvalidInput, NotAllowed, NotFound, SpanplatError
from spanplat.models import Assignment
from spanplat.platforms.arrivals import read_arrival
from spanplat.platforms.departures import Departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns import find_campaign
from spanplat.services.claims import NothingLeft
from spanplat.services.definitions import definition_of
from spanplat.services.pages import list_items, show_item
from spanplat.services.participation import (
    Stage,
    Visit,
    answer_comprehension,
    enter,
    find_visit,
    give_consent,
    way_back,
    withdraw,
)
from spanplat.services.saving import KeptAsLate, save_item
from spanplat.services.submitting import Incomplete, submit_batch
from spanplat.web import locale
from spanplat.web.annotator_page import direction_of, first_open, page_data, page_language
from spanplat.web.errors import status_of
from spanplat.web.markdown import render_markdown
from spanplat.web.policy import policy
from spanplat.web.session import database, reading, transaction

blueprint = Blueprint("annotator", __name__)


@blueprint.get("/c/<slug>/start")
@policy("public")
def start(slug: str) -> AnyResponse | str:
    """Make or find the participant's session and go to its page."""
    campaign = find_campaign(reading(), slug)
    definition = definition_of(campaign)
    if definition.platform.ask_name and not request.args.get("annotator", "").strip():
        return _page("name.html", definition)
    arrival = read_arrival(definition.platform, request.args)
    if arrival.preview:
        return _page("preview.html", definition, **_instructions(definition))
    with transaction() as session:
        visit = enter(session, find_campaign(session, slug), arrival, _now())
    return redirect(url_for("annotator.work", token=visit.participation.token), 303)


@blueprint.get("/a/<token>")
@policy("annotator-token")
def work(token: str) -> AnyResponse | str:
    """Show the page of the stage the visit is in."""
    return _stage_page(find_visit(reading(), token))


@blueprint.post("/a/<token>/consent")
@policy("annotator-token")
def consent(token: str) -> AnyResponse:
    """Record the decision on the consent form."""
    with transaction() as session:
        give_consent(session, token, agreed=request.form.get("agreed") == "yes", now=_now())
    return _to_work(token)


@blueprint.post("/a/<token>/comprehension")
@policy("annotator-token")
def comprehension(token: str) -> AnyResponse:
    """Check the answers about the instructions."""
    with transaction() as session:
        answer_comprehension(session, token, request.form, _now())
    return _to_work(token)


@blueprint.post("/a/<token>/withdraw")
@policy("annotator-token")
def withdraw_consent(token: str) -> AnyResponse:
    """End the visit at the annotator's wish."""
    with transaction() as session:
        withdraw(session, token)
    return _to_work(token)


@blueprint.get("/a/<token>/items")
@policy("annotator-token")
def items(token: str) -> Response:
    """List the items of the batch with their states."""
    assignment, _definition = _seat(token)
    return jsonify(list_items(reading(), assignment))


@blueprint.get("/a/<token>/items/<int:position>")
@policy("annotator-token")
def item(token: str, position: int) -> Response:
    """Give one item with the annotator's work on it."""
    assignment, definition = _seat(token)
    return jsonify(show_item(reading(), definition, assignment, position))


@blueprint.put("/a/<token>/items/<int:position>")
@policy("annotator-token")
def save(token: str, position: int) -> tuple[Response, int]:
    """Store one save; acknowledged means on disk."""
    try:
        submission = Submission.model_validate_json(request.get_data())
    except ValidationError as error:
        raise InvalidInput(_in_words(error)) from error
    try:
        saved = save_item(database(), token, position, submission, _now())
    except KeptAsLate as error:
        return jsonify(error=str(error), kept=True), 410
    return jsonify(revision=saved.revision), 200


@blueprint.post("/a/<token>/submit")
@policy("annotator-token")
def submit(token: str) -> AnyResponse | str:
    """Submit the batch and show the way back; again shows the same page."""
    try:
        visit = submit_batch(database(), token, _now())
    except Incomplete as error:
        visit = find_visit(reading(), token)
        page = _page("incomplete.html", visit.definition, message=str(error), base=_base(token))
        return make_response(page, 409)
    return _stage_page(visit)


@blueprint.get("/a/<token>/submit")
@policy("annotator-token")
def reloaded_submit(token: str) -> AnyResponse:
    """Lead whoever opens the address of the last page anew to the page they should see."""
    return _to_work(token)


@blueprint.errorhandler(NothingLeft)
@blueprint.errorhandler(NotAllowed)
def turned_away(error: SpanplatError) -> AnyResponse:
    """Tell kindly who cannot be let in, and why."""
    language = locale.choose()
    page = render_template(
        "annotator/turned_away.html",
        title=_("There is no place for you here at the moment"),
        message=str(error),
        language=language,
        direction=direction_of(language),
    )
    return make_response(page, status_of(error))


def _stage_page(visit: Visit) -> AnyResponse | str:
    definition, base = visit.definition, _base(visit.participation.token)
    match visit.stage:
        case Stage.CONSENT:
            text = definition.consent.text if definition.consent else ""
            return _page("consent.html", definition, base=base, consent_text=render_markdown(text))
        case Stage.COMPREHENSION:
            return _comprehension_page(visit, base)
        case Stage.DONE:
            message = render_markdown(definition.final_message)
            return _page("done.html", definition, final_message=message, departure=way_back(visit))
        case Stage.ENDED:
            return _page("ended.html", definition, reason=visit.participation.ended, departure=way_back(visit))
        case Stage.WORK if visit.assignment is not None:
            return _work_page(visit, visit.assignment, base)
        case _:
            again = url_for("annotator.start", slug=visit.campaign.slug, **visit.participation.parameters)
            minutes = definition.annotators.lease_minutes
            page = _page(
                "ended.html", definition, reason="lapsed", departure=Departure(), minutes=minutes, start_again=again
            )
            return make_response(page, 410)


def _work_page(visit: Visit, assignment: Assignment, base: str) -> str:
    definition, group = visit.definition, visit.participation.group
    states = list_items(reading(), assignment)
    position = first_open(states)
    data = page_data(
        definition,
        base=base,
        group=group,
        language=page_language(definition),
        items=states,
        current=show_item(reading(), definition, assignment, position),
    )
    return _page(
        "work.html",
        definition,
        **_instructions(definition),
        page=data,
        page_json=htmlsafe_json_dumps(data, dumps=_dump_in_order),
        group=group,
        number=[state.position for state in states].index(position) + 1,
        questions=definition.questions,
        opening=all(state.revision == 0 for state in states),
    )


def _comprehension_page(visit: Visit, base: str) -> str:
    asked = visit.definition.comprehension
    if asked is None:
        raise AssertionError("the stage says that there are comprehension questions")
    return _page(
        "comprehension.html",
        visit.definition,
        **_instructions(visit.definition),
        base=base,
        questions=asked.questions,
        attempts=asked.attempts,
        attempts_left=asked.attempts - visit.participation.comprehension_attempts,
    )


def _seat(token: str) -> tuple[Assignment, CampaignDefinition]:
    visit = find_visit(reading(), token)
    if visit.stage in (Stage.DONE, Stage.ENDED):
        raise Gone(_("this work was submitted or has ended"))
    if visit.assignment is None:
        raise NotFound(_("no batch was taken with this link yet; open the start link again"))
    return visit.assignment, visit.definition


def _page(template: str, definition: CampaignDefinition, **values: Any) -> str:
    """Render a page of a campaign in the campaign's language."""
    language = page_language(definition)
    with force_locale(language):
        return render_template(
            f"annotator/{template}",
            title=definition.title,
            language=language,
            direction=direction_of(language),
            **values,
        )


def _instructions(definition: CampaignDefinition) -> dict[str, Any]:
    return {
        "guidelines": render_markdown(definition.guidelines),
        "categories": definition.categories,
        "granularity": definition.spans.granularity,
    }


def _base(token: str) -> str:
    return url_for("annotator.work", token=token)


def _to_work(token: str) -> AnyResponse:
    return redirect(_base(token), 303)


def _in_words(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "body"
    return f"{place}: {first['msg']}"


def _dump_in_order(value: Any, **_sorting: Any) -> str:
    """Keep the order of a source's keys, which Jinja would sort."""
    return current_app.json.dumps(value)


def _now() -> datetime:
    return datetime.now(UTC)
