"""Database sessions of a request: one read snapshot, opened at its first use, and write transactions.

Routes open their write transaction themselves, after they have read and validated the input. So no request holds the write lock
while it parses a body.
"""

import contextlib
from collections.abc import Iterator

from flask import Flask, current_app, g, request
from flask_login import current_user
from sqlalchemy.orm import Session

from spanplat.db import Database


def init_app(app: Flask, database: Database) -> None:
    """Attach the database to the app, and close the snapshot at the end of each request."""
    app.extensions["spanplat_database"] = database
    app.teardown_request(_close_reading)


def database() -> Database:
    """Return the app's database."""
    found: Database = current_app.extensions["spanplat_database"]
    return found


def reading() -> Session:
    """Return the read session of the request: one consistent snapshot for all its queries."""
    if "reading_session" not in g:
        g.reading_stack = contextlib.ExitStack()
        g.reading_session = g.reading_stack.enter_context(database().reading())
    session: Session = g.reading_session
    return session


def forget_snapshot() -> None:
    """Close the snapshot, so that later reads of the request see what was committed meanwhile."""
    _close_reading(None)


def try_out() -> Session:
    """Return a session that the rest of the request can write to and read from; it is rolled back at the end.

    Other writers wait until the request ends, so read and validate first.
    """
    _read_form()
    # The trial takes the place of the snapshot in `g`; a snapshot that is still open would never be closed.
    forget_snapshot()
    g.reading_stack = contextlib.ExitStack()
    g.reading_session = g.reading_stack.enter_context(database().trial())
    session: Session = g.reading_session
    return session


@contextlib.contextmanager
def transaction() -> Iterator[Session]:
    """Return a write transaction of the signed-in user. It commits at the end of its block and rolls back if the block raises.

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
    """Return the name of the acting user for the audit log."""
    return f"user:{current_user.id}" if current_user.is_authenticated else "visitor"


def _read_form() -> None:
    """Receive and parse the form before the write lock is taken: a route may use it for the first time within its transaction."""
    request.form  # noqa: B018 - the attribute is parsed at its first use


def _close_reading(_error: BaseException | None) -> None:
    stack: contextlib.ExitStack | None = g.pop("reading_stack", None)
    g.pop("reading_session", None)
    if stack is not None:
        stack.close()
