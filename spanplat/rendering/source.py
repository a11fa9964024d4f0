"""One source to safe HTML: the renderer is the one the settings name, else the first whose shape the value has."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from markupsafe import Markup

from spanplat.rendering.dialogue import render_dialogue
from spanplat.rendering.fields import Part, select_fields
from spanplat.rendering.hypertext import render_html
from spanplat.rendering.images import render_image
from spanplat.rendering.markdown import render_markdown_source
from spanplat.rendering.markup import element, join
from spanplat.rendering.reading import Chart, Reading, Words, is_scalar
from spanplat.rendering.series import render_series
from spanplat.rendering.tables import render_table
from spanplat.rendering.text import render_text
from spanplat.rendering.translation import render_translation
from spanplat.rendering.tree import DEEPEST, render_pairs, render_tree
from spanplat.rendering.triples import render_triples
from spanplat.schemas.source import SourceKind, SourceSettings


class Renderer(Protocol):
    """Renders values of one shape."""

    def __call__(self, value: Any, reading: Reading, *, asked: bool) -> Markup | None:
        """Return safe HTML, or None when the value has another shape; when asked for by name, with less evidence."""


# In the order in which they are tried.
_RENDERERS: Mapping[SourceKind, Renderer] = {
    "image": render_image,
    "html": render_html,
    "markdown": render_markdown_source,
    "text": render_text,
    "triples": render_triples,
    "dialogue": render_dialogue,
    "translation": render_translation,
    "series": render_series,
    "table": render_table,
}


@dataclass(frozen=True)
class RenderedSource:
    """A source for reading."""

    html: Markup
    """Safe to put into a page as it is."""
    charts: tuple[Chart, ...]
    """Its charts; the HTML has a place with the position of each in ``data-chart``."""


def render_source(
    source: Any, settings: SourceSettings | None = None, words: Words | None = None
) -> RenderedSource | None:
    """Render a source for reading.

    Parameters
    ----------
    source
        Any JSON value.
    settings
        How the campaign shows its sources; everything is found out from the shape without them.
    words
        Headings and names in the language of the page.

    Returns
    -------
    RenderedSource or None
        None when there is no source.

    >>> render_source({"name": "Riverside", "stars": 4}).html
    Markup('<div class="record"><dl><dt>name</dt><dd><span class="value" dir="auto">Riverside</span>...
    """
    if source is None:
        return None
    settings = settings or SourceSettings()
    reading = Reading(settings, words or Words(), render_value)
    selected = select_fields(source, settings)
    parts = [_section(part, reading) for part in selected.parts]
    if selected.rest is not None:
        parts.append(render_as(settings.kind, selected.rest, reading))
    return RenderedSource(join(parts), tuple(reading.charts))


def render_value(value: Any, reading: Reading) -> Markup:
    """Render a value by its shape."""
    return render_as("auto", value, reading)


def render_as(kind: SourceKind, value: Any, reading: Reading) -> Markup:
    """Render a value as this kind; by its shape when it does not fit the kind."""
    if kind == "tree" or reading.depth > DEEPEST:
        return render_tree(value, reading)
    if kind != "auto":
        asked = _RENDERERS[kind](value, reading, asked=True)
        if asked is not None:
            return asked
    if not is_scalar(value):
        pairs = render_pairs(value, reading)
        if pairs is not None:
            return pairs
    for renderer in _RENDERERS.values():
        shown = renderer(value, reading, asked=False)
        if shown is not None:
            return shown
    return render_tree(value, reading)


def _section(part: Part, reading: Reading) -> Markup:
    field, value = part
    label = field.label or reading.label(*field.path.split("."))
    settings = reading.settings.model_copy(update={"labels": {**reading.settings.labels, field.path: label}})
    inside = replace(reading, settings=settings, name=field.path, depth=reading.depth + 1)
    return element("section", element("h3", label), render_as(field.kind, value, inside), class_="field")
