"""What the client asked to get: a page, a fragment of one, or JSON."""

import hashlib
import re

from flask import Response, make_response, request
from flask_wtf.csrf import generate_csrf

_JSON_PATHS = re.compile(r"/api/|/a/[^/]+/items(/|$)")


def wants_json() -> bool:
    """Tell whether errors of this request should be JSON: the API, the annotator page's own calls, or an explicit preference."""
    return (
        bool(_JSON_PATHS.match(request.path)) or request.accept_mimetypes.best == "application/json" or request.is_json
    )


def is_htmx() -> bool:
    """Tell whether htmx asks for a fragment, and not for a whole page to follow a link or to restore one from history."""
    whole_page = "HX-Boosted" in request.headers or "HX-History-Restore-Request" in request.headers
    return "HX-Request" in request.headers and not whole_page


def unless_unchanged(html: str) -> Response:
    """Answer with the page or fragment, or with 304 when the client has the same already."""
    response = make_response(html)
    same = html.replace(generate_csrf(), "")  # a token is signed anew every second
    response.set_etag(hashlib.sha256(same.encode()).hexdigest()[:32], weak=True)
    response.vary.add("HX-Request")
    response.make_conditional(request)
    return response
