"""What every import format is turned into before it is stored, and the report of what was stored."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

from spanplat.schemas.record import CheckRecord, LeftOut
from spanplat.services.importing.datasets import DatasetReport


@dataclass(frozen=True, slots=True)
class IncomingSpan:
    """A span as received; ``category`` is None where what was received names no category of the campaign."""

    category: str | None
    text: str
    start: int | None
    raw: dict[str, Any]
    end: int | None = None
    """As received; ``start + len(text)`` where the format has no end."""
    side: str = "output"
    output: int = 0
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    attributes: dict[str, Any] | None = None
    origin: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class IncomingAnnotation:
    """One annotator's work on one output as received."""

    dataset: str
    split: str
    example: str
    system: str
    annotator: str
    """Names the annotator within the import."""
    annotator_kind: str
    order: int
    """Orders the annotators, for rules such as ``first``."""
    spans: tuple[IncomingSpan, ...]
    raw: dict[str, Any]
    place: str
    """File and line, for messages."""
    text: str | None = None
    """The annotated text, where the record carries it."""
    group: str | None = None
    status: str = "complete"
    check: CheckRecord | None = None
    """Outcome of the check that the item carries."""
    left_out: LeftOut | None = None
    """Why it is in no figure."""
    amendment: int = 0
    """Of the campaign it comes from."""
    dismissed: tuple[dict[str, Any], ...] = ()
    """Suggestions turned down."""
    answers: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] | None = None
    started_at: float | None = None
    """Unix seconds."""
    completed_at: float | None = None
    seconds: float | None = None

    @property
    def owner(self) -> str:
        """Name the seats it belongs to: the annotator's, those that count apart from those left out for one reason."""
        return f"{self.annotator}\n{self.left_out or ''}"


@dataclass
class ImportReport:
    """Counts of what an import met; nothing received is missing from them."""

    campaign: str
    already_imported: bool = False
    annotations: int = 0
    spans: int = 0
    annotators: int = 0
    outputs: int = 0
    """Distinct outputs annotated."""
    repeats: int = 0
    """Annotations of an output that the same annotator had annotated before; kept as repeats."""
    differences: Counter[str] = field(default_factory=Counter)
    """Spans that differ from the text at their offset: in letter ``case``, in white ``space``, in ``offset``."""
    spans_not_in_text: int = 0
    """Spans kept with the offsets received although their text is nowhere in the output."""
    unplaced_spans: Counter[str] = field(default_factory=Counter)
    """Spans kept apart, by reason."""
    unplaced_annotations: Counter[str] = field(default_factory=Counter)
    """Annotations kept apart, by reason."""
    unreadable_records: int = 0
    text_problems: list[str] = field(default_factory=list)
    """Rows of the outputs and inputs that could not be used, and outputs stored before with another text."""
    suggestions: list[str] = field(default_factory=list)

    def take_texts(self, texts: DatasetReport) -> None:
        """Note what storing the campaign's texts met."""
        self.text_problems += texts.problems
        self.text_problems += [
            f"{'/'.join(key)} is stored with another text, which stays" for key in dict.fromkeys(texts.differing)
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: dict(value) if isinstance(value, Counter) else value for name, value in values.items()}
