"""The database behind a request: one snapshot to read from, opened when first asked for, and transactions to write in.

Routes open their write transaction themselves, after they have read and validated, so that nobody waits for the write lock while a
request body is parsed.
"""

import contextlib
from collections.abc import Iterator

from flask import Flask, current_app, g, request
from flask_login import current_user
from sqlalchemy.orm import Session

from spanplat.db import Database


def init_app(app: Flask, database: Database) -> None:
    """Attach the database to the app and close each request's snapshot when the request ends."""
    app.extensions["spanplat_database"] = database
    app.teardown_request(_close_reading)


def database() -> Database:
    """Return the app's database."""
    found: Database = current_app.extensions["spanplat_database"]
    return found


def reading() -> Session:
    """Return the request's read session: one consistent snapshot, shared by everything the request reads."""
    if "reading_session" not in g:
        g.reading_stack = contextlib.ExitStack()
        g.reading_session = g.reading_stack.enter_context(database().reading())
    session: Session = g.reading_session
    return session


def forget_snapshot() -> None:
    """Let the rest of the request read what was committed meanwhile."""
    _close_reading(None)


def try_out() -> Session:
    """Let the rest of the request write to a session, and read from it what it wrote; nothing of it is stored.

    Others wait with their writing until the request ends, so read and validate first.
    """
    _read_form()
    forget_snapshot()
    g.reading_stack = contextlib.ExitStack()
    g.reading_session = g.reading_stack.enter_context(database().trial())
    session: Session = g.reading_session
    return session


@contextlib.contextmanager
def transaction() -> Iterator[Session]:
    """Return a write transaction of whoever is signed in: commits when its block ends, rolls back when it raises.

    >>> def open_campaign(slug):
    ...     with transaction() as session:
    ...         set_status(session, slug, CampaignStatus.OPEN)
    ...     return redirect(url_for("campaigns.show", slug=slug), 303)
    """
    _read_form()
    with database().transaction() as session:
        session.info["actor"] = actor()
        yield session


def actor() -> str:
    """Return who acts, as the audit log keeps it."""
    return f"user:{current_user.id}" if current_user.is_authenticated else "visitor"


def _read_form() -> None:
    """Read what is sent before others have to wait: a route may look at it for the first time while it writes."""
    request.form  # noqa: B018 - parsed when first asked for


def _close_reading(_error: BaseException | None) -> None:
    stack: contextlib.ExitStack | None = g.pop("reading_stack", None)
    g.pop("reading_session", None)
    if stack is not None:
        stack.close()
