"""Context of a renderer: the settings, the depth, and a function that renders inner values."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from babel import Locale, UnknownLocaleError
from markupsafe import Markup

from spanplat.schemas.source import SourceSettings

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Words:
    """Words that renderers add; the caller translates them."""

    subject: str = "Subject"
    property: str = "Property"
    object: str = "Object"
    image: str = "Image"
    chart: str = "Chart"
    table: str = "Table"
    document: str = "Document"


@dataclass(frozen=True)
class Chart:
    """A chart in a rendered source, drawn on request."""

    spec: Mapping[str, Any]
    width: int
    height: int


@dataclass(frozen=True)
class RenderingContext:
    """Context for the renderer of one value in a source."""

    settings: SourceSettings
    words: Words
    render: Callable[[Any, "RenderingContext"], Markup]
    """Function that renders a value of any kind."""
    name: str = ""
    """Name of the field that holds the value."""
    depth: int = 0
    charts: list[Chart] = field(default_factory=list)
    """Charts so far; renderers append to this list and change nothing else."""

    def inner(self, value: Any, name: str = "") -> Markup:
        """Render a value inside this one."""
        return self.render(value, replace(self, name=name, depth=self.depth + 1))

    def label(self, *names: str) -> str:
        """Return the readable name of a field, or of a field in nested records.

        ``elapsed_time`` becomes ``elapsed time``, and ``time`` with ``elapsed`` becomes ``time · elapsed``. The campaign's settings
        may define other names.
        """
        labels = self.settings.labels
        whole = labels.get(".".join(names))
        return whole or " · ".join(labels.get(name) or name.replace("_", " ") for name in names)


def is_record(value: Any) -> bool:
    """Tell whether a JSON value is an object."""
    return isinstance(value, Mapping)


def is_scalar(value: Any) -> bool:
    """Tell whether a JSON value is neither a list nor an object."""
    return not isinstance(value, (Mapping, list))


def is_number(value: Any) -> bool:
    """Tell whether a JSON value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def written(value: Any) -> str:
    """Return a scalar as JSON writes it; strings without quotation marks."""
    return value if isinstance(value, str) else json.dumps(value)


def direction_of(language: str) -> str:
    """Return the reading direction of a language: ``ltr``, ``rtl``, or ``auto`` for an unknown language."""
    try:
        return str(Locale.parse(language, sep="-").text_direction)
    except (UnknownLocaleError, ValueError):
        return "auto"
