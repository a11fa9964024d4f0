"""Annotators' requests take turns in computing, so that a crowd is served faster than if all computed at once.

Threads of one process share one interpreter, which only one of them uses at a time. Where many have something to compute, each
statement that asks the database hands the interpreter to another and has to wait for it again; with 64 people who save without
pause that took a third of the saves a second. Requests of annotators are short and alike, so they wait in line instead.
Researchers' requests, some of which take long, do not stand in this line.
"""

import io
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.wsgi import get_input_stream

from spanplat.db import Database
from spanplat.web.headers import ANNOTATOR_PATHS

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

AT_ONCE_ON_SQLITE = 1
"""SQLite works in the thread that asks it."""
AT_ONCE_ON_POSTGRESQL = 4
"""Threads that wait for PostgreSQL leave the interpreter to others."""
PATIENCE_SECONDS = 2.0
"""How long a request waits for its turn: whoever is before it may wait for something that takes long."""


def init_app(app: Flask, database: Database) -> None:
    """Let the requests of annotators to this application take turns."""
    at_once = AT_ONCE_ON_SQLITE if database.is_sqlite else AT_ONCE_ON_POSTGRESQL
    app.wsgi_app = Turns(app.wsgi_app, at_once, app.config["MAX_CONTENT_LENGTH"])  # type: ignore[method-assign]


class Turns:
    """WSGI middleware that lets only so many requests of annotators be answered at once.

    A body is read before the turn begins and the answer is sent after it ends, so that nobody waits for somebody else's connection.

    Parameters
    ----------
    application
        What answers.
    at_once
        Requests that may be answered at the same time.
    longest_body
        In bytes; a longer one is left to the application to refuse. Of one that does not say its length, no more is read.
    patience
        Seconds after which a request is answered out of turn.
    """

    def __init__(
        self, application: "WSGIApplication", at_once: int, longest_body: int, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._application = application
        self._turns = threading.Semaphore(at_once)
        self._longest_body = longest_body
        self._patience = patience

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Answer a request when its turn comes."""
        if not environ["PATH_INFO"].startswith(ANNOTATOR_PATHS) or not self._has_come(environ):
            return self._application(environ, start_response)
        has_turn = self._turns.acquire(timeout=self._patience)
        try:
            return self._application(environ, start_response)
        finally:
            if has_turn:
                self._turns.release()

    def _has_come(self, environ: "WSGIEnvironment") -> bool:
        """Wait for the body; tells whether it came whole and does not say that it is too long."""
        try:
            body = get_input_stream(environ, max_content_length=self._longest_body).read()
        except HTTPException:
            return False
        environ["wsgi.input"] = io.BytesIO(body)
        return True
