"""The database behind a request: one snapshot to read from, opened when first asked for, and transactions to write in.

Routes open their write transaction themselves, after they have read and validated, so that nobody waits for the write lock while a
request body is parsed.
"""

import contextlib

from flask import Flask, current_app, g
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


def transaction() -> contextlib.AbstractContextManager[Session]:
    """Return a write transaction: commits when its block ends, rolls back when it raises.

    >>> def open_campaign(slug):
    ...     with transaction() as session:
    ...         set_status(session, slug, CampaignStatus.OPEN, actor=actor())
    ...     return redirect(url_for("campaigns.show", slug=slug), 303)
    """
    return database().transaction()


def _close_reading(_error: BaseException | None) -> None:
    stack: contextlib.ExitStack | None = g.pop("reading_stack", None)
    g.pop("reading_session", None)
    if stack is not None:
        stack.close()
