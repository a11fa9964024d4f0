"""Parts of pages with computed figures: stored figures are shown at once, missing figures are computed on request.

A form that submits itself (a button without JavaScript) requests the missing figures. Small work is done in that request, the rest
by the worker. Meanwhile a line of the part asks for the progress every second. A GET request never computes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from flask import Blueprint, Flask, current_app, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput, NotFound
from spanplat.services.background.computations import (
    ComputationState,
    ComputationStatus,
    ResultQuestion,
    answer_if_small,
    answer_now,
    ask_worker,
    find_status,
    withdraw,
)
from spanplat.services.background.results import ReportType, StoredResult
from spanplat.web.address import AddressQuery
from spanplat.web.background.dispatch import wake_worker
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import database, forget_snapshot, reading, transaction
from spanplat.web.sorted_tables import table_parameters

blueprint = Blueprint("computed", __name__, url_prefix="/admin/computed/<name>")

Query = TypeVar("Query", bound=AddressQuery)


@dataclass(frozen=True)
class ComputedPart(Generic[Query, ReportType]):
    """Part of a page with computed figures."""

    name: str
    title: Any
    """Name of the part for the waiting reader."""
    query: type[Query]
    template: str
    question: Callable[[Query], ResultQuestion[ReportType]]
    context: Callable[[Query, StoredResult[ReportType]], Mapping[str, Any]]
    """Further values for the template, beside ``query``, ``status`` and ``part``."""
    address: Callable[[Query], str]
    """Address of its page."""
    is_aside: bool = False
    """Whether it is below the page's main part, which already says that all figures are up to date."""


def init_app(app: Flask, *parts: ComputedPart[Any, Any]) -> None:
    """Register the parts by name."""
    app.jinja_env.globals["table_parameters"] = table_parameters
    app.extensions["spanplat_parts"] = {part.name: part for part in parts}
    app.register_blueprint(blueprint)


@blueprint.get("")
@policy("viewer")
def show(name: str) -> AnyResponse:
    """Return the present part. The progress line gets the whole part as soon as there are new figures."""
    part, query = _part_and_query(name)
    if not is_htmx():
        return redirect(part.address(query), 303)
    context = part_context(part, query)
    seen = request.args.get("seen")
    if seen == context["seen"]:
        return unless_unchanged(render_template("computed/_status.html", **context))
    response = unless_unchanged(render_template("computed/_part.html", **context))
    # The progress line asked for itself, but the new figures replace the whole part.
    if seen is not None:
        response.headers["HX-Retarget"] = f"#part-{name}"
    return response


@blueprint.post("")
@policy("viewer")
def start(name: str) -> AnyResponse:
    """Compute the missing figures: small work and perhaps the first stage now, the rest in the worker."""
    part, query = _part_and_query(name)
    question = part.question(query)
    status = find_status(reading(), question)
    try:
        # No worker runs, and the reader chose to wait for this request instead.
        if "here" in request.form:
            with transaction() as session:
                withdraw(session, question)
            answer_now(database(), question)
        elif status.is_small:
            answer_now(database(), question, until=_first_stage(status, question))
        else:
            with transaction() as session:
                job = ask_worker(session, question)
            wake_worker(job.id)  # after the commit: the worker looks for the row at once
    except InvalidInput as error:
        if not is_htmx():
            raise
        return make_response(render_template("computed/_impossible.html", part=part, query=query, reason=str(error)))
    return _answer(part, query)


@blueprint.post("/stop")
@policy("viewer")
def stop(name: str) -> AnyResponse:
    """Stop the worker. Finished stages stay stored."""
    part, query = _part_and_query(name)
    with transaction() as session:
        withdraw(session, part.question(query))
    return _answer(part, query)


def part_context(part: ComputedPart[Query, ReportType], query: Query) -> dict[str, Any]:
    """Return the values for the templates of a part."""
    status = find_status(reading(), part.question(query))
    context = part.context(query, status.result) if status.result else {}
    return {"part": part, "query": query, "status": status, "seen": _seen(status), **context}


def answer(part: ComputedPart[Query, ReportType]) -> tuple[Query, ReportType]:
    """Return the query of this request and its complete report of the present data, for a download.

    Raises
    ------
    Conflict
        If the report is not stored and its computation takes long.
    """
    query = part.query.from_request()
    return query, answer_if_small(database(), part.question(query))


def _answer(part: ComputedPart[Query, ReportType], query: Query) -> AnyResponse:
    if not is_htmx():
        return redirect(part.address(query), 303)
    forget_snapshot()  # it does not contain the figures that were just stored
    return make_response(render_template("computed/_part.html", **part_context(part, query)))


def _part_and_query(name: str) -> tuple[ComputedPart[Any, Any], Any]:
    parts = cast("dict[str, ComputedPart[Any, Any]]", current_app.extensions["spanplat_parts"])
    if name not in parts:
        raise NotFound(f"nothing called {name!r} is computed here; choose one of {', '.join(parts)}")
    return parts[name], parts[name].query.from_request()


def _first_stage(status: ComputationStatus[Any], question: ResultQuestion[Any]) -> str | None:
    """Return the first stage if it is missing and a reader waits for it. The other stages then come together."""
    first = next(iter(question.kind.stages))
    return first if status.stage == first and is_htmx() else None


def _seen(status: ComputationStatus[Any]) -> str:
    """Return an identifier of the figures that the part shows, without its progress line."""
    is_busy = status.state in (ComputationState.QUEUED, ComputationState.NO_WORKER, ComputationState.RUNNING)
    figures = "" if status.result is None else f"{status.result.report.signature}|{status.result.finished}"
    return hashlib.sha256(f"{figures}|{is_busy}".encode()).hexdigest()[:12]
