"""Who annotates what: data selection, items, batches, groups."""

from typing import Literal

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.categories import Named
from spanplat.schemas.slug import Slug


class DataSelection(Strict):
    """The outputs a campaign annotates."""

    dataset: Slug
    splits: list[str] = []
    """All splits when empty."""
    systems: list[str] = []
    """All systems when empty."""
    examples: list[str] = []
    """Keys of examples; all when empty."""
    min_characters: int | None = Field(default=None, ge=0)
    max_characters: int | None = Field(default=None, ge=1)
    """Short and long texts can be separate campaigns."""
    limit: int | None = Field(default=None, ge=1)
    """At most this many outputs, drawn with ``seed``."""
    seed: int = 42

    @model_validator(mode="after")
    def _possible(self) -> "DataSelection":
        if (
            self.min_characters is not None
            and self.max_characters is not None
            and self.min_characters > self.max_characters
        ):
            raise ValueError(
                f"nothing can be at least {self.min_characters} and at most {self.max_characters} characters long"
            )
        return self


class Aspect(Named):
    """One quality asked about apart from the others."""


class ItemSettings(Strict):
    """What one annotator is asked about at once."""

    kind: Literal["output", "pair", "aspect", "span"] = "output"
    aspects: list[Aspect] = []
    """For ``aspect``: every output is asked about once under each."""
    show_systems: bool = False
    """Name the systems to the annotator; comparisons are blind unless this is set."""
    spans_from: Slug | None = None
    """For ``span``: the campaign whose spans are judged."""

    @model_validator(mode="after")
    def _complete(self) -> "ItemSettings":
        if self.kind == "aspect" and not self.aspects:
            raise ValueError("items of kind 'aspect' need a list of aspects")
        keys = [aspect.key for aspect in self.aspects]
        if repeated := next((key for position, key in enumerate(keys) if key in keys[:position]), None):
            raise ValueError(f"two aspects have the key {repeated!r}; rename one or remove it")
        if self.kind == "span" and self.spans_from is None:
            raise ValueError("items of kind 'span' need spans_from, the campaign whose spans are judged")
        return self


class BatchSettings(Strict):
    """How items are put together for one annotator at a time."""

    regular: int = Field(default=10, ge=0)
    """Items with unknown answers in a batch (the last batch may have fewer); with 0 there is one batch, of gold alone."""
    attention: int = Field(default=0, ge=0)
    """Attention checks mixed into each batch, drawn from the must-mark, must-abstain and known-answer checks."""
    gold: int = Field(default=0, ge=0)
    """Gold items mixed into each batch."""
    tutorial: int = Field(default=0, ge=0)
    """Practice items at the start of each annotator's first batch."""
    sampling: Literal["partition", "sample"] = "partition"
    """``partition`` puts every item into one batch, ``sample`` draws each batch at random."""
    batches: int | None = Field(default=None, ge=1)
    """Number of batches when sampling."""
    positions: Literal["random", "spread", "fixed"] = "random"
    """Where checks stand: anywhere, evenly apart, or always in the same places."""
    balance: list[Literal["system", "example", "split"]] = []
    """Spread these evenly over the batches."""
    seed: int = 42

    @model_validator(mode="after")
    def _sampled_number(self) -> "BatchSettings":
        if self.sampling == "sample" and self.batches is None:
            raise ValueError("sampling needs the number of batches; state batches, or use sampling: partition")
        if self.regular == 0 and self.gold == 0:
            raise ValueError("a batch without regular items needs gold items; set regular, gold, or both")
        return self


class Group(Named):
    """Annotators who see their own wording; every batch is offered to each group."""


class AnnotatorSettings(Strict):
    """How many annotators each output gets, and how long one may hold a batch."""

    per_output: float = Field(default=1, ge=1, le=10_000)
    """Annotators per output and group; 1.4 means once, and 40 % of the batches twice."""
    lease_minutes: int = Field(default=60, ge=1, le=10080)
    """A batch untouched for so long returns to the pool; every save renews the lease."""
    max_batches: int = Field(default=1, ge=1)
    """Batches one person may do."""
    exclude_campaigns: list[Slug] = []
    """People who annotated an output in one of these campaigns do not get it here."""
    invited: list[str] = []
    """Platform ids that may enter; everybody when empty."""
    when_full: Literal["page", "redundancy"] = "page"
    """When every slot is taken: a friendly page, or useful paid redundancy."""
