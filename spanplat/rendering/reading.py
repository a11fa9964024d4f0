"""What every renderer is told: the settings, how deep it stands, and how to render what lies inside."""

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
    """The words that renderers add of their own; the caller translates them."""

    subject: str = "Subject"
    property: str = "Property"
    object: str = "Object"
    image: str = "Image"
    chart: str = "Chart"
    table: str = "Table"
    document: str = "Document"


@dataclass(frozen=True)
class Chart:
    """A chart that stands in a rendered source, drawn when somebody asks for it."""

    spec: Mapping[str, Any]
    width: int
    height: int


@dataclass(frozen=True)
class Reading:
    """One rendering of one source, as seen by the renderer of one value in it."""

    settings: SourceSettings
    words: Words
    render: Callable[[Any, "Reading"], Markup]
    """Renders a value of any kind."""
    name: str = ""
    """Name of the field that holds the value."""
    depth: int = 0
    charts: list[Chart] = field(default_factory=list)
    """The charts met so far; the only thing that renderers add to."""

    def inner(self, value: Any, name: str = "") -> Markup:
        """Render a value that lies inside this one."""
        return self.render(value, replace(self, name=name, depth=self.depth + 1))

    def label(self, *names: str) -> str:
        """Return the name of a field, or of one in records within records, as people write it.

        ``elapsed_time`` loses its sign, ``time`` and ``elapsed`` become ``time · elapsed``; the campaign may have other words.
        """
        labels = self.settings.labels
        whole = labels.get(".".join(names))
        return whole or " · ".join(labels.get(name) or name.replace("_", " ") for name in names)


def is_record(value: Any) -> bool:
    """Say whether a JSON value is an object."""
    return isinstance(value, Mapping)


def is_scalar(value: Any) -> bool:
    """Say whether a JSON value is neither a list nor an object."""
    return not isinstance(value, (Mapping, list))


def is_number(value: Any) -> bool:
    """Say whether a JSON value is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def written(value: Any) -> str:
    """Return a scalar as it stands in JSON, strings without their quotation marks."""
    return value if isinstance(value, str) else json.dumps(value)


def direction_of(language: str) -> str:
    """Return the reading direction of a language: ``ltr``, ``rtl``, or ``auto`` for one that is not known."""
    try:
        return str(Locale.parse(language, sep="-").text_direction)
    except (UnknownLocaleError, ValueError):
        return "auto"
