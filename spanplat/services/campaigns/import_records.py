"""Common form of the annotations of all import formats, and the report of an import."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from spanplat.formats.factgenie import FactgenieSpan
from spanplat.schemas.record import CheckRecord, LeftOut, SpanRecord
from spanplat.services.datasets import DatasetReport

ReceivedSpan = FactgenieSpan | SpanRecord
"""Span as the file contains it."""


@dataclass(frozen=True, slots=True)
class IncomingAnnotation:
    """Work of one annotator on one output, as received."""

    dataset: str
    split: str
    example: str
    system: str
    annotator: str
    """Name of the annotator within the import."""
    annotator_kind: str
    order: int
    """Number by which annotators are ordered, for rules such as ``first``."""
    spans: tuple[tuple[str | None, ReceivedSpan], ...]
    """Pairs of a category key and a span; the key is None if the campaign has no such category."""
    raw: dict[str, Any]
    place: str
    """File and line, for messages."""
    text: str | None = None
    """The annotated text, if the record contains it."""
    group: str | None = None
    status: str = "complete"
    check: CheckRecord | None = None
    """Result of the check that the item carries."""
    left_out: LeftOut | None = None
    """Reason why it enters no figure."""
    amendment: int = 0
    """Number of the amendment in the original campaign."""
    dismissed: tuple[dict[str, Any], ...] = ()
    """Dismissed suggestions."""
    answers: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] | None = None
    started_at: float | None = None
    """Unix time in seconds."""
    completed_at: float | None = None
    seconds: float | None = None

    @property
    def owner(self) -> str:
        """Key of the batch and seats that it belongs to: the annotator and the reason why the work is left out, if any."""
        return f"{self.annotator}\n{self.left_out or ''}"


@dataclass
class ImportReport:
    """Counts of everything that an import received."""

    campaign: str
    already_imported: bool = False
    annotations: int = 0
    spans: int = 0
    annotators: int = 0
    outputs: int = 0
    """Number of distinct outputs."""
    repeats: int = 0
    """Annotations of an output that the same annotator had annotated before; stored as repeats."""
    differences: Counter[str] = field(default_factory=Counter)
    """Spans that differ from the text at their offsets, by kind: letter ``case``, white ``space``, ``offset``."""
    spans_not_in_text: int = 0
    """Spans stored with the received offsets although their text is nowhere in the output."""
    unplaced_spans: Counter[str] = field(default_factory=Counter)
    """Spans stored apart as unplaced, by reason."""
    unplaced_annotations: Counter[str] = field(default_factory=Counter)
    """Annotations stored apart as unplaced, by reason."""
    unreadable_records: int = 0
    text_problems: list[str] = field(default_factory=list)
    """Rows of outputs and inputs that could not be used, and outputs that are stored with another text."""
    suggestions: list[str] = field(default_factory=list)

    def take_texts(self, texts: DatasetReport) -> None:
        """Add the problems found while storing the campaign's texts."""
        self.text_problems += texts.problems
        self.text_problems += [
            f"{'/'.join(key)} is stored with another text, which stays" for key in dict.fromkeys(texts.differing)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}
