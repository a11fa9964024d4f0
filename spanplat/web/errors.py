"""Conversion of errors to HTTP answers: a page for people, ``{"error": …}`` for programs."""

from collections.abc import Mapping

from flask import Flask, Response, jsonify, make_response, render_template, request
from flask_babel import lazy_gettext as _
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from spanplat.errors import Conflict, Gone, InvalidInput, NotAllowed, NotFound, SpanplatError, TooMany, Unavailable
from spanplat.web.representation import is_htmx, wants_json

STATUS: Mapping[type[SpanplatError], int] = {
    InvalidInput: 422,
    NotFound: 404,
    Conflict: 409,
    NotAllowed: 403,
    Gone: 410,
    TooMany: 429,
    Unavailable: 503,
}

_TITLES = {
    400: _("This request could not be read"),
    403: _("You may not do this"),
    404: _("There is nothing at this address"),
    405: _("This address does not take such a request"),
    409: _("This contradicts what is there now"),
    410: _("This has ended"),
    413: _("That is too large"),
    422: _("Something in this is not valid"),
    429: _("Too many attempts"),
    503: _("Not ready just now"),
}

_ADVICE = {
    400: _("Nothing was changed. Go back, reload the page and try again."),
    404: _("Check the address, or start from the overview."),
    429: _("Wait a minute, then try again."),
    500: _("What you had saved is safe. Try again; if it happens again, tell the operator the time and this address."),
    503: _("What you had saved is safe. Try again in a minute."),
}


def status_of(error: SpanplatError) -> int:
    """Return the HTTP status of a spanplat error; that of the nearest base class if its own class has none."""
    for kind in type(error).__mro__:
        if kind in STATUS:
            return STATUS[kind]
    return 500


def init_app(app: Flask) -> None:
    """Register the error handlers."""
    app.register_error_handler(SpanplatError, _answer_ours)
    # Flask wraps unexpected exceptions in InternalServerError, so this handler answers them too, without details.
    app.register_error_handler(HTTPException, _answer_http)


def _answer_ours(error: SpanplatError) -> Response:
    response = _answer(status_of(error), str(error))
    if isinstance(error, TooMany):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _answer_http(error: HTTPException) -> Response:
    status = error.code or 500
    if status < 400:  # Werkzeug raises redirects too, for example to add a slash to an address
        return make_response(error.get_response())
    # The descriptions of these two come from Werkzeug and say no more than our titles.
    message = "" if status in (404, 500) else error.description or error.name
    if isinstance(error, RequestEntityTooLarge) and request.max_content_length:
        message = f"at most {request.max_content_length // 1024**2} MB are accepted here; nothing was stored"
    response = _answer(status, message)
    # For example the Allow header of a 405. The content headers describe Werkzeug's own page, which is not sent.
    for name, value in error.get_headers():
        if name not in ("Content-Type", "Content-Length"):
            response.headers[name] = value
    return response


def _answer(status: int, message: str) -> Response:
    title = str(_TITLES.get(status, _("Something went wrong on our side")))
    if wants_json():
        return make_response(jsonify(error=message or title), status)
    template = "_error.html" if is_htmx() else "error.html"
    page = render_template(template, status=status, title=title, message=message, advice=_ADVICE.get(status, ""))
    return make_response(page, status)
