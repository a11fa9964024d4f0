"""Downloads of tables as files and of charts as images."""

from collections.abc import Mapping
from typing import Any, cast

from flask import Flask, Response, current_app, request

from spanplat.errors import NotFound
from spanplat.formats.tables import TABLE_DOWNLOADS, Table, find_table_download
from spanplat.formats.vega import MEDIA_TYPES, Theme, draw
from spanplat.settings import Settings


def table_file(tables: Mapping[str, Table], name: str) -> Response:
    """Return the table with this name in the ``format`` of the address; the default is CSV."""
    chosen = find_table_download(request.args.get("format", TABLE_DOWNLOADS[0].name))
    if name not in tables:
        raise NotFound(f"there is no table {name!r} here; choose one of {', '.join(tables)}")
    table = tables[name]
    response = Response(chosen.write(table), content_type=f"{chosen.media_type}; charset=utf-8")
    response.headers.set("Content-Disposition", "attachment", filename=f"{table.name}.{chosen.extension}")
    return response


def chart_image(spec: Mapping[str, Any], name: str) -> Response:
    """Draw a chart in the ``format`` and ``theme`` of the address; with ``download`` the browser saves it as a file."""
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


def init_app(app: Flask) -> None:
    """Give the list of file formats to the templates."""
    app.jinja_env.globals["table_downloads"] = TABLE_DOWNLOADS
