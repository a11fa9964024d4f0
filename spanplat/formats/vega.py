"""Vega-Lite charts as SVG and PNG, drawn on the server and cached."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import vl_convert

from spanplat.errors import InvalidInput

ImageFormat = Literal["svg", "png"]
Theme = Literal["light", "dark"]

MEDIA_TYPES: Mapping[str, str] = {"svg": "image/svg+xml", "png": "image/png"}
PNG_SCALE = 2.0
"""Pixels of a PNG per unit of the chart; 2 is sharp in print."""

# The colours of the pages: surface, text, muted text, grid, accent.
_COLOURS: Mapping[str, Mapping[str, str]] = {
    "light": {"surface": "#ffffff", "text": "#1c2128", "muted": "#535b67", "grid": "#d5d9df", "accent": "#0a5ba8"},
    "dark": {"surface": "#1b1f25", "text": "#e6e9ed", "muted": "#a9b2be", "grid": "#363d47", "accent": "#83bdf7"},
}
_SERIES: Mapping[str, list[str]] = {
    "light": ["#0072b2", "#d55e00", "#5f6772", "#008a64", "#b8578f"],
    "dark": ["#4aa8e8", "#ff8a3d", "#b7c0cb", "#2fc79b", "#e79bc6"],
}

_DESCRIBED = re.compile(rb'(?P<start><path aria-label="(?P<text>[^"<>]*)" role="graphics-symbol"[^<>]*)/>')


def draw(spec: Mapping[str, Any], image_format: str, *, theme: Theme = "light", folder: Path | None = None) -> bytes:
    """Draw a chart.

    Parameters
    ----------
    spec
        A Vega-Lite specification that contains its data; it may not load any.
    image_format
        ``svg`` or ``png``.
    theme
        The pages' colours to use.
    folder
        Cache folder; the file name is the digest of everything that determines the image. Without a folder there is no cache.

    Returns
    -------
    bytes
        The image file.

    Raises
    ------
    InvalidInput
        If there is no such format, or the specification is not valid.
    """
    if image_format not in MEDIA_TYPES:
        raise InvalidInput(f"charts are drawn as {' or '.join(MEDIA_TYPES)}, not {image_format!r}")
    styled = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **spec, "config": _config(theme)}
    text = json.dumps(styled, sort_keys=True, ensure_ascii=False)
    if folder is None:
        return _converted(text, image_format)
    # The version is part of the digest, because another version of the library may draw another image.
    digest = hashlib.sha256(f"{version('vl-convert-python')} {text}".encode()).hexdigest()
    path = folder / f"{digest}.{image_format}"
    if not path.is_file():  # two processes may draw the same chart at once; both write the same image
        image = _converted(text, image_format)
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            file.write(image)
        Path(name).replace(path)  # atomic, so that no other process reads half a file
    return path.read_bytes()


def with_titles(svg: bytes) -> bytes:
    """Copy the description of each point of an SVG chart into a title, which browsers show as a tooltip."""
    return _DESCRIBED.sub(rb"\g<start>><title>\g<text></title></path>", svg)


def _converted(spec: str, image_format: str) -> bytes:
    try:
        # No base URL is allowed, so that a specification cannot make the server request an address.
        if image_format == "png":
            return bytes(vl_convert.vegalite_to_png(spec, scale=PNG_SCALE, allowed_base_urls=[]))
        return str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])).encode()
    except ValueError as error:
        raise InvalidInput(f"the chart cannot be drawn: {error}") from error


def _config(theme: Theme) -> dict[str, Any]:
    colours = _COLOURS[theme]
    return {
        "background": colours["surface"],
        "font": "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif",
        "view": {"stroke": None},
        "mark": {"color": colours["accent"]},
        "text": {"color": colours["text"]},
        "rule": {"color": colours["text"]},
        "range": {"category": _SERIES[theme], "heatmap": [colours["surface"], colours["accent"]]},
        "axis": {
            "labelColor": colours["text"],
            "titleColor": colours["muted"],
            "gridColor": colours["grid"],
            "domainColor": colours["grid"],
            "tickColor": colours["grid"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 240,
        },
        "legend": {
            "labelColor": colours["text"],
            "titleColor": colours["muted"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 320,
        },
    }
