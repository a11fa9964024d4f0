"""The native record: one annotator's work on one item, as it is imported, exported and published."""

from typing import Any, Literal

from pydantic import Field

from spanplat.schemas.base import Strict

AnnotatorKind = Literal["human", "llm"]
Side = Literal["output", "source"]
LeftOut = Literal["excluded", "late", "returned", "expired", "rejected"]
ItemKind = Literal["output", "pair", "aspect", "span"]


class SpanRecord(Strict):
    """One span; offsets are half-open code points over the text of its side."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    category: str
    """Name of the category, as the campaign's definition spells it."""
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    side: Side = "output"
    output: int = 0
    """Position among the item's outputs (0 unless the item is a pair)."""
    attributes: dict[str, Any] = {}
    origin: dict[str, Any] | None = None
    """Where the span comes from: offsets as received when they differ, the rule that placed it, a suggestion it started as."""


class ItemRecord(Strict):
    """What the annotator was asked about."""

    kind: ItemKind = "output"
    outputs: list[str] = []
    """Systems of the outputs, in the order shown."""
    aspect: str | None = None


class CheckRecord(Strict):
    """Outcome of an attention check or gold item."""

    kind: str
    passed: bool


class AnnotationRecord(Strict):
    """One annotator's work on one item."""

    campaign: str
    kind: str
    dataset: str
    split: str
    example: str
    system: str
    text: str
    text_sha256: str
    annotator: str
    annotator_kind: AnnotatorKind
    group: str | None = None
    batch: int | None = None
    status: Literal["draft", "complete"] = "complete"
    amendment: int = 0
    """Number of the campaign's amendment that was in force; 0 is the definition it was launched with."""
    started_at: str | None = None
    completed_at: str | None = None
    seconds: float | None = None
    item: ItemRecord = ItemRecord()
    spans: list[SpanRecord] = []
    dismissed: list[dict[str, Any]] = []
    """Suggestions that the annotator turned down, each as it was suggested."""
    answers: dict[str, Any] = {}
    check: CheckRecord | None = None
    left_out: LeftOut | None = None
    """Why the annotation is in no figure; None when it counts."""
