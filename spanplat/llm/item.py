"""Items in the form in which models are asked about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ReportedError:
    """An error that a member of an ensemble found, in the form that the consolidator sees."""

    annotator: int
    """Counted from 1."""
    text: str
    category: str
    """Name."""
    severity: str | None = None
    """Name."""
    reason: str | None = None


@dataclass(frozen=True)
class AskedSpan:
    """A span of another campaign that is to be judged."""

    text: str
    """Passage of the span. Empty for an omission."""
    context: str
    """The passage with some words before and after it."""
    category: str
    """Name."""
    reason: str | None = None
    side: str = "output"


@dataclass(frozen=True)
class AskedItem:
    """Subject of one request to a model."""

    texts: Sequence[str]
    """Stored texts of its outputs, in the order shown: two for a pair, otherwise one."""
    source: Any = None
    source_texts: Mapping[str, str] = field(default_factory=dict)
    """Stored plain texts of source fields by name. Spans on the source side are offsets into them."""
    aspect: str | None = None
    """Key of the aspect to judge."""
    judged: AskedSpan | None = None
    """Span to judge, if the item is one span and not the whole text."""
    errors: Sequence[ReportedError] = ()
    """Errors that the members of an ensemble found, for a consolidator."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Combined answers of the members of an ensemble."""
    remarks: Mapping[str, Any] = field(default_factory=dict)
    """Further facts about the members that are stored with the annotation."""

    @property
    def text(self) -> str:
        """The first text."""
        return self.texts[0]
