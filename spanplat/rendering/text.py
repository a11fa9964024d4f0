"""Plain text, white space and all."""

from typing import Any

from markupsafe import Markup

from spanplat.rendering.markup import element
from spanplat.rendering.reading import Reading, direction_of, written


def render_text(value: Any, reading: Reading, *, asked: bool) -> Markup | None:
    """Render a text as a block whose characters are exactly those of the text."""
    if not isinstance(value, str) or not (asked or reading.depth == 0):
        return None
    language = reading.settings.language
    return element(
        "div",
        value.replace("\r\n", "\n"),
        class_="plain-source",
        lang=language or None,
        dir=direction_of(language) if language else "auto",
    )


def scalar(value: Any, reading: Reading) -> Markup:
    """Render a string, number, truth value or null within something else."""
    if value is None or value == "":
        return element("span", "–", class_="none")
    if not isinstance(value, str):
        return element("span", written(value), class_="value")
    text = value.replace("\r\n", "\n")
    return element("span", text, class_="value", dir="auto", lang=reading.settings.language or None)
