"""Pages of pools of people: members and their sources, adding, removing and download."""

from datetime import UTC, datetime

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.services.accounts.audit import log_event
from spanplat.services.crowd.pools import (
    SOURCES,
    add_people,
    describe_pools,
    find_pool,
    list_members,
    pool_file,
    remove_from_pool,
)
from spanplat.web.crowd.pool_table import MEMBERS, POOLS, members_file
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx
from spanplat.web.session import database, reading, transaction
from spanplat.web.sorted_tables import TablePage

MEMBERS_PER_PAGE = 100

blueprint = Blueprint("pools", __name__, url_prefix="/admin/pools")


@blueprint.get("")
@policy("viewer")
def index() -> str:
    """List the pools, with the campaigns that use each."""
    return _index()


@blueprint.post("")
@policy("researcher")
def make() -> AnyResponse | tuple[str, int]:
    """Add people to a pool; create the pool if no pool has this name."""
    slug = request.form.get("pool", "").strip()
    try:
        _add(slug)
    except InvalidInput as error:
        return _index(problem=str(error)), 422
    return redirect(url_for("pools.show", slug=slug), 303)


@blueprint.get("/<slug>")
@policy("viewer")
def show(slug: str) -> str:
    """Show the members of a pool by pseudonym."""
    return _page(slug)


@blueprint.get("/<slug>/table/<name>")
@policy("viewer")
def members_table(slug: str, name: str) -> Response:
    """Return a file with all members that the table's search finds, by pseudonym."""
    found = MEMBERS.choose(list_members(reading(), slug), MEMBERS.query())
    return table_file({"members": members_file(found)}, name)


@blueprint.post("/<slug>/members")
@policy("researcher")
def add(slug: str) -> AnyResponse | tuple[str, int]:
    """Add people by their ids on the platform."""
    find_pool(reading(), slug)
    try:
        _add(slug)
    except InvalidInput as error:
        return _page(slug, problem=str(error)), 422
    return redirect(url_for("pools.show", slug=slug), 303)


@blueprint.post("/<slug>/remove")
@policy("researcher")
def remove(slug: str) -> AnyResponse:
    """Remove people from a pool."""
    with transaction() as session:
        remove_from_pool(session, slug, request.form.getlist("annotator"))
    return redirect(url_for("pools.show", slug=slug), 303)


# POST, not GET: each download writes to the log, and the CSRF token stops other sites from triggering it.
@blueprint.post("/<slug>.csv")
@policy("researcher")
def download(slug: str) -> AnyResponse:
    """Return the list with the platform's ids. The download is logged, because the file identifies people."""
    content = pool_file(reading(), slug)
    with transaction() as session:
        log_event(session, "pool.downloaded", slug)
    response = Response(content, content_type="text/csv; charset=utf-8")
    response.headers.set("Content-Disposition", "attachment", filename=f"{slug}.csv")
    response.headers["Cache-Control"] = "no-store"
    return response


def _add(slug: str) -> None:
    with transaction() as session:
        source, ids = request.form.get("source", ""), request.form.get("ids", "").splitlines()
        add_people(session, slug, source, ids, datetime.now(UTC))


def _index(*, problem: str = "") -> str:
    # A session of its own: after a refused change the request's snapshot may be older than the database.
    with database().reading() as session:
        pools = POOLS.view("pools", TablePage("pools.index"), describe_pools(session))
        return render_template("pools/index.html", pools=pools, sources=SOURCES, problem=problem, form=request.form)


def _page(slug: str, *, problem: str = "") -> str:
    with database().reading() as session:
        pool = find_pool(session, slug)
        place = TablePage("pools.show", {"slug": slug})
        return render_template(
            "pools/_members.html" if is_htmx() else "pools/pool.html",
            line=next(line for line in describe_pools(session) if line.slug == pool.slug),
            table=MEMBERS.view("members", place, list_members(session, slug), MEMBERS_PER_PAGE),
            now=datetime.now(UTC),
            sources=SOURCES,
            problem=problem,
            form=request.form,
        )
