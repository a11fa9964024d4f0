"""Conversion of one source to safe HTML, by the renderer in the settings or else by the first renderer that fits the value."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from markupsafe import Markup

from spanplat.rendering.context import Chart, RenderingContext, Words, is_scalar
from spanplat.rendering.dialogue import render_dialogue
from spanplat.rendering.fields import SelectedField, select_fields
from spanplat.rendering.hypertext import render_html
from spanplat.rendering.images import render_image
from spanplat.rendering.markdown import render_markdown_source
from spanplat.rendering.markup import element, join
from spanplat.rendering.series import render_series
from spanplat.rendering.tables import render_table
from spanplat.rendering.text import render_text
from spanplat.rendering.translation import render_translation
from spanplat.rendering.tree import DEEPEST, render_pairs, render_tree
from spanplat.rendering.triples import render_triples
from spanplat.schemas.source import SourceKind, SourceSettings


class Renderer(Protocol):
    """Renderer of values of one shape."""

    def __call__(self, value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
        """Return safe HTML, or None if the value has another shape.

        ``asked`` says that the settings name this renderer; it then accepts values with less evidence for its shape.
        """


# In the order in which they are tried: the special shapes come before the general ones.
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
    """A rendered source."""

    html: Markup
    """HTML that is safe in a page."""
    charts: tuple[Chart, ...]
    """Charts; the HTML has a placeholder with the position of each in ``data-chart``."""


def render_source(
    source: Any, settings: SourceSettings | None = None, words: Words | None = None
) -> RenderedSource | None:
    """Render a source as safe HTML.

    Parameters
    ----------
    source
        Any JSON value.
    settings
        The campaign's settings for sources; without them, the shape of each value decides.
    words
        Headings and names in the language of the page.

    Returns
    -------
    RenderedSource or None
        None if there is no source.

    >>> render_source({"name": "Riverside", "stars": 4}).html
    Markup('<div class="record"><dl><dt>name</dt><dd><span class="value" dir="auto">Riverside</span>...
    """
    if source is None:
        return None
    settings = settings or SourceSettings()
    context = RenderingContext(settings, words or Words(), render_value)
    selected = select_fields(source, settings)
    parts = [_section(part, context) for part in selected.parts]
    if selected.rest is not None:
        parts.append(render_as(settings.kind, selected.rest, context))
    return RenderedSource(join(parts), tuple(context.charts))


def render_value(value: Any, context: RenderingContext) -> Markup:
    """Render a value according to its shape."""
    return render_as("auto", value, context)


def render_as(kind: SourceKind, value: Any, context: RenderingContext) -> Markup:
    """Render a value as this kind, or according to its shape if it does not fit the kind."""
    # Deep values go straight to the tree, which writes them as JSON text instead of calling renderers again.
    if kind == "tree" or context.depth > DEEPEST:
        return render_tree(value, context)
    if kind != "auto":
        asked = _RENDERERS[kind](value, context, asked=True)
        if asked is not None:
            return asked
    if not is_scalar(value):  # first, because a list of names with values would also pass as a table
        pairs = render_pairs(value, context)
        if pairs is not None:
            return pairs
    for renderer in _RENDERERS.values():
        shown = renderer(value, context, asked=False)
        if shown is not None:
            return shown
    return render_tree(value, context)


def _section(part: SelectedField, context: RenderingContext) -> Markup:
    field, value = part
    label = field.label or context.label(*field.path.split("."))
    settings = context.settings.model_copy(update={"labels": {**context.settings.labels, field.path: label}})
    inside = replace(context, settings=settings, name=field.path, depth=context.depth + 1)
    return element("section", element("h3", label), render_as(field.kind, value, inside), class_="field")
