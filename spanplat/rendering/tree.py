"""Renderer of records and lists as key–value pairs and branches that can be folded."""

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from spanplat.rendering.context import Record, RenderingContext, is_record, is_scalar, written
from spanplat.rendering.markup import element, join
from spanplat.rendering.series import find_series
from spanplat.rendering.text import scalar

OPEN_DEPTH = 4
"""Branches at this depth are folded at first."""

OPEN_ENTRIES = 30
"""Branches with more entries are folded at first, too."""

DEEPEST = 40
"""Deeper values are shown as JSON text."""

INLINE_CHARACTERS = 24
"""Entries of a list are shown side by side if none is longer."""

_TITLES = ("name", "title", "label", "category", "key", "property", "field", "attribute", "section", "heading")
_VALUES = ("value", "values", "text", "content", "description")


def render_pairs(value: Any, context: RenderingContext) -> Markup | None:
    """Render a list of names with values, such as ``[{"name": "Weight", "value": "270 g"}, …]``, or of titles with lists."""
    if not isinstance(value, list) or not value:
        return None
    if pairs := _named_values(value):
        return _record(pairs, context, as_written=True)
    titled = _titled_sections(value)
    if titled and all(isinstance(content, list) for _title, content in titled):
        return _sections(titled, context)
    return None


def render_tree(value: Any, context: RenderingContext) -> Markup:
    """Render any JSON value."""
    if is_scalar(value):
        return scalar(value, context)
    if context.depth > DEEPEST:  # deeper calls could exhaust Python's stack
        return element("code", json.dumps(value, ensure_ascii=False), class_="value")
    if is_record(value):
        return _record(list(value.items()), context)
    return _list(value, context)


def _list(entries: Sequence[Any], context: RenderingContext) -> Markup:
    if not entries:
        return scalar(None, context)
    if all(is_scalar(entry) for entry in entries):
        return simple_list(entries, context)
    if titled := _titled_sections(entries):
        return _sections(titled, context)
    return element("ol", *(element("li", context.inner(entry)) for entry in entries), class_="tree")


def _record(pairs: Sequence[tuple[str, Any]], context: RenderingContext, *, as_written: bool = False) -> Markup:
    """Render pairs in their order: short values in lists of names and values, others as branches.

    Names of fields are made readable. Names that come from values of a source are shown as written.
    """
    parts: list[Markup] = []
    row: list[Markup] = []
    for name, value in pairs:
        title = name if as_written else context.label(name)
        if not _is_short(value) or _is_long_text(value):
            if row:
                parts.append(element("dl", *row))
                row = []
            parts.append(_branch(title, context.inner(value, name), value, context, alone=len(pairs) == 1))
            continue
        shown = context.inner(value, name) if is_scalar(value) else simple_list(value or [None], context)
        row += [element("dt", title), element("dd", shown)]
    if row:
        parts.append(element("dl", *row))
    return element("div", *parts, class_="record")


def _sections(titled: Sequence[tuple[str, Any]], context: RenderingContext) -> Markup:
    return join(_branch(title, context.inner(content), content, context) for title, content in titled)


def _branch(title: str, shown: Markup, value: Any, context: RenderingContext, *, alone: bool = False) -> Markup:
    """Put a value under a title so that it can be folded; a single branch and a chart are open at first."""
    count = len(value) if isinstance(value, (list, dict)) else 0
    opened = context.depth < OPEN_DEPTH and (alone or count <= OPEN_ENTRIES or find_series(value) is not None)
    counted = element("span", f" ({count})", class_="count") if isinstance(value, list) else ""
    return element("details", element("summary", title, counted), shown, open=opened)


def simple_list(entries: Sequence[Any], context: RenderingContext) -> Markup:
    """Render a list of scalars, in one line if they are short."""
    short = all(len(written(entry)) <= INLINE_CHARACTERS for entry in entries)
    items = (element("li", scalar(entry, context)) for entry in entries)
    return element("ul", *items, class_="inline-list" if short else "plain-list")


def _is_short(value: Any) -> bool:
    """Tell whether a value fits beside its name: a scalar, an empty value, or a list of scalars."""
    return is_scalar(value) or not value or (isinstance(value, list) and all(is_scalar(entry) for entry in value))


def _is_long_text(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > 400 or value.count("\n") > 2)


def _named_values(entries: Sequence[Any]) -> list[tuple[str, Any]] | None:
    """Return the pairs of a list of names with values; None for any other list."""
    pairs = []
    for entry in entries:
        if not is_record(entry) or len(entry) != 2:
            return None
        (first, title), (second, value) = entry.items()
        if first.casefold() not in _TITLES or second.casefold() not in _VALUES or not isinstance(title, str):
            return None
        if not _is_short(value):
            return None
        pairs.append((title, value))
    return pairs


def _titled_sections(entries: Sequence[Any]) -> list[tuple[str, Any]] | None:
    """Return title and content of each record in a list; None unless each has a title and exactly one list or record."""
    sections: list[tuple[str, Any]] = []
    for entry in entries:
        if not is_record(entry):
            return None
        title = next((name for name in entry if name.casefold() in _TITLES and _is_title(entry[name])), None)
        if title is None or sum(not is_scalar(value) for value in entry.values()) != 1:
            return None
        rest: Record = {name: value for name, value in entry.items() if name != title}
        sections.append((entry[title], next(iter(rest.values())) if len(rest) == 1 else rest))
    return sections


def _is_title(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= 80
