"""Kind of answer that the client asked for: a page, a fragment or JSON."""

import hashlib
import re

from flask import Response, make_response, request
from flask_wtf.csrf import generate_csrf

_JSON_PATHS = re.compile(r"/api/|/a/[^/]+/items(/|$)")


def wants_json() -> bool:
    """Return whether errors should be JSON: for the API, for calls of the annotator's page and for clients that prefer JSON."""
    return (
        bool(_JSON_PATHS.match(request.path)) or request.accept_mimetypes.best == "application/json" or request.is_json
    )


def is_htmx() -> bool:
    """Return whether htmx asks for a fragment.

    For boosted links and for pages that it restores from history, htmx sends the same header but needs the whole page.
    """
    whole_page = "HX-Boosted" in request.headers or "HX-History-Restore-Request" in request.headers
    return "HX-Request" in request.headers and not whole_page


def unless_unchanged(html: str) -> Response:
    """Return the page or fragment, or status 304 if the client already has it."""
    response = make_response(html)
    same = html.replace(generate_csrf(), "")  # a token is signed anew every second
    # Weak, because two answers with the same tag may differ in the token.
    response.set_etag(hashlib.sha256(same.encode()).hexdigest()[:32], weak=True)
    # The same address gives a page or a fragment: a browser must not show one for the other from its cache.
    response.vary.add("HX-Request")
    response.make_conditional(request)
    return response
