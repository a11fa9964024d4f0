"""Tables as files and charts as images: one answer for every page that offers them."""

from collections.abc import Mapping
from typing import Any, cast

from flask import Response, current_app, request

from spanplat.errors import NotFound
from spanplat.formats.tables import WRITERS, Table
from spanplat.formats.vega import MEDIA_TYPES, Theme, draw
from spanplat.settings import Settings


def table_file(tables: Mapping[str, Table], name: str) -> Response:
    """Return the table of this name in the ``format`` that the address asks for (CSV unless it says)."""
    chosen = request.args.get("format", "csv")
    if chosen not in WRITERS:
        raise NotFound(f"there is no download as {chosen!r}; choose one of {', '.join(WRITERS)}")
    if name not in tables:
        raise NotFound(f"there is no table {name!r} here; choose one of {', '.join(tables)}")
    write, media_type, ending = WRITERS[chosen]
    table = tables[name]
    response = Response(write(table), content_type=f"{media_type}; charset=utf-8")
    response.headers.set("Content-Disposition", "attachment", filename=f"{table.name}.{ending}")
    return response


def chart_image(spec: Mapping[str, Any], name: str) -> Response:
    """Draw a chart in the ``format`` and ``theme`` that the address asks for; with ``download`` the browser saves it."""
    image_format = request.args.get("format", "svg")
    if image_format not in MEDIA_TYPES:
        raise NotFound(f"charts are drawn as {' or '.join(MEDIA_TYPES)}, not as {image_format!r}")
    theme = "dark" if request.args.get("theme") == "dark" else "light"
    settings = cast("Settings", current_app.extensions["spanplat_settings"])
    image = draw(spec, image_format, theme=cast("Theme", theme), folder=settings.make_home() / "charts")
    response = Response(image, content_type=MEDIA_TYPES[image_format])
    if "download" in request.args:
        response.headers.set("Content-Disposition", "attachment", filename=f"{name}.{image_format}")
    response.add_etag()
    response.make_conditional(request)
    return response
