"""An item as a model is asked about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ReportedError:
    """An error that a member of an ensemble found, as the consolidator is told of it."""

    annotator: int
    """Counted from 1."""
    text: str
    category: str
    """Name."""
    severity: str | None = None
    """Name."""
    reason: str | None = None


@dataclass(frozen=True)
class JudgedSpan:
    """A span that another campaign has, and that is to be judged."""

    text: str
    """Its passage; empty where something is left out."""
    context: str
    """The passage with some words before and after it."""
    category: str
    """Name."""
    reason: str | None = None
    side: str = "output"


@dataclass(frozen=True)
class AskedItem:
    """What one question to a model is about."""

    texts: Sequence[str]
    """The stored texts of its outputs, in the order shown; two for a pair, otherwise one."""
    source: Any = None
    source_texts: Mapping[str, str] = field(default_factory=dict)
    """Plain texts of source fields by name, as stored: what spans on the source side index."""
    aspect: str | None = None
    """Key of the aspect it is asked under."""
    judged: JudgedSpan | None = None
    """What is judged, where that is one span and not the whole text."""
    errors: Sequence[ReportedError] = ()
    """What the members of an ensemble found, for a consolidator."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """What the members of an ensemble answer together."""
    remarks: Mapping[str, Any] = field(default_factory=dict)
    """What else of the members is kept beside the annotation."""

    @property
    def text(self) -> str:
        """The first text."""
        return self.texts[0]
