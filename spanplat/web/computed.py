"""Parts of pages whose figures have to be computed: shown as far as they are there, computed when asked, followed while they come.

A page shows its part at once. What is missing is asked for by a form that sends itself (a button without JavaScript): small work is
done in that request, the rest by the worker, while a line of the part asks every second how far it is. Reading never computes.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from flask import Blueprint, Flask, current_app, make_response, redirect, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput, NotFound
from spanplat.services.computations import (
    Outlook,
    Question,
    Situation,
    answer_if_small,
    answer_now,
    ask_worker,
    look,
    withdraw,
)
from spanplat.services.results import Result
from spanplat.web.address import AddressQuery
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import database, forget_snapshot, reading, transaction
from spanplat.web.waking import wake_worker

blueprint = Blueprint("computed", __name__, url_prefix="/admin/computed/<name>")

Query = TypeVar("Query", bound=AddressQuery)


@dataclass(frozen=True)
class Part(Generic[Query]):
    """One part of a page whose figures are computed."""

    name: str
    title: Any
    """What the waiting reader is told that it is."""
    query: type[Query]
    template: str
    question: Callable[[Query], Question]
    context: Callable[[Query, Result], Mapping[str, Any]]
    """What the template needs beside ``query``, ``outlook`` and ``part``."""
    address: Callable[[Query], str]
    """Of the page it stands on."""
    is_aside: bool = False
    """Whether it stands below the page's main part, which says that all is up to date."""


def init_app(app: Flask, *parts: Part[Any]) -> None:
    """Make the parts known by name, and their addresses."""
    app.extensions["spanplat_parts"] = {part.name: part for part in parts}
    app.register_blueprint(blueprint)


@blueprint.get("")
@policy("viewer")
def show(name: str) -> AnyResponse:
    """Return the part as it is now; the line that asks how far it is gets the whole part once there are new figures."""
    part, query = _part_and_query(name)
    if not is_htmx():
        return redirect(part.address(query), 303)
    context = part_context(part, query)
    seen = request.args.get("seen")
    if seen == context["seen"]:
        return unless_unchanged(render_template("computed/_status.html", **context))
    response = unless_unchanged(render_template("computed/_part.html", **context))
    if seen is not None:
        response.headers["HX-Retarget"] = f"#part-{name}"
    return response


@blueprint.post("")
@policy("viewer")
def start(name: str) -> AnyResponse:
    """Compute what is missing: small work now, one stage before the others, the rest by the worker."""
    part, query = _part_and_query(name)
    question = part.question(query)
    outlook = look(reading(), question)
    try:
        if "here" in request.form:
            with transaction() as session:
                withdraw(session, question)
            answer_now(database(), question)
        elif outlook.is_small:
            answer_now(database(), question, until=_first_stage(outlook, question))
        else:
            with transaction() as session:
                job = ask_worker(session, question)
            wake_worker(job.id)
    except InvalidInput as error:
        if not is_htmx():
            raise
        return make_response(render_template("computed/_impossible.html", part=part, query=query, reason=str(error)))
    return _answer(part, query)


@blueprint.post("/stop")
@policy("viewer")
def stop(name: str) -> AnyResponse:
    """Stop the worker's work; the stages that are done stay."""
    part, query = _part_and_query(name)
    with transaction() as session:
        withdraw(session, part.question(query))
    return _answer(part, query)


def part_context(part: Part[Query], query: Query) -> dict[str, Any]:
    """Return what the templates of a part need to show it as it is now."""
    outlook = look(reading(), part.question(query))
    context = part.context(query, outlook.result) if outlook.result else {}
    return {"part": part, "query": query, "outlook": outlook, "seen": _seen(outlook), **context}


def answer(part: Part[Query]) -> tuple[Query, dict[str, Any]]:
    """Return the query of this request and all its figures for a download: of the present data, or not at all.

    Raises
    ------
    Conflict
        If they are not stored and computing them takes long.
    """
    query = part.query.from_request()
    return query, answer_if_small(database(), part.question(query))


def _answer(part: Part[Query], query: Query) -> AnyResponse:
    if not is_htmx():
        return redirect(part.address(query), 303)
    forget_snapshot()
    return make_response(render_template("computed/_part.html", **part_context(part, query)))


def _part_and_query(name: str) -> tuple[Part[Any], Any]:
    parts = cast("dict[str, Part[Any]]", current_app.extensions["spanplat_parts"])
    if name not in parts:
        raise NotFound(f"nothing called {name!r} is computed here; choose one of {', '.join(parts)}")
    return parts[name], parts[name].query.from_request()


def _first_stage(outlook: Outlook, question: Question) -> str | None:
    """Return the first stage where it is missing and somebody waits for it; the others then come together."""
    first = next(iter(question.kind.stages))
    return first if outlook.stage == first and is_htmx() else None


def _seen(outlook: Outlook) -> str:
    """Name what the part shows beside its line of progress."""
    is_busy = outlook.situation in (Situation.QUEUED, Situation.FORSAKEN, Situation.RUNNING)
    figures = "" if outlook.result is None else f"{outlook.result.value['signature']}|{outlook.result.finished}"
    return hashlib.sha256(f"{figures}|{is_busy}".encode()).hexdigest()[:12]
