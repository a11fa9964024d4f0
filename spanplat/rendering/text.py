"""Renderer of plain text with its white space."""

from typing import Any

from markupsafe import Markup

from spanplat.rendering.context import RenderingContext, direction_of, written
from spanplat.rendering.markup import element


def render_text(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a text as a block with exactly the characters of the text."""
    if not isinstance(value, str) or not (asked or context.depth == 0):
        return None
    language = context.settings.language
    return element(
        "div",
        value.replace("\r\n", "\n"),
        class_="plain-source",
        lang=language or None,
        dir=direction_of(language) if language else "auto",
    )


def scalar(value: Any, context: RenderingContext) -> Markup:
    """Render a string, number, truth value or null inside another element."""
    if value is None or value == "":
        return element("span", "–", class_="none")
    if not isinstance(value, str):
        return element("span", written(value), class_="value")
    text = value.replace("\r\n", "\n")
    return element("span", text, class_="value", dir="auto", lang=context.settings.language or None)
