"""Parts of a definition about the assignment of work: data selection, items, batches, groups, annotators."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.schemas.categories import Named
from spanplat.schemas.slug import Slug
from spanplat.schemas.source import SourceSettings


class DataSelection(Strict):
    """The outputs a campaign annotates."""

    dataset: Slug
    splits: list[str] = []
    """All splits when empty."""
    systems: list[str] = []
    """All systems when empty."""
    examples: list[str] = []
    """Keys of examples; all when empty."""
    source_text: str = Field(default="text", min_length=1)
    """The field of the source in which categories of side ``source`` or ``both`` are marked: one with text at the top of the
    source. A source that is nothing but a text needs no name."""
    min_characters: int | None = Field(default=None, ge=0)
    max_characters: int | None = Field(default=None, ge=1)
    """Short and long texts can be separate campaigns."""
    limit: int | None = Field(default=None, ge=1)
    """At most this many outputs, drawn with ``seed``."""
    seed: int = 42
    source: SourceSettings = SourceSettings()
    """How sources are shown."""

    @model_validator(mode="after")
    def _possible(self) -> "DataSelection":
        if (
            self.min_characters is not None
            and self.max_characters is not None
            and self.min_characters > self.max_characters
        ):
            message = f"nothing can be at least {self.min_characters} and at most {self.max_characters} characters long"
            refuse([(("max_characters",), message)])
        return self


class Aspect(Named):
    """One quality asked about apart from the others."""

    library: str | None = None
    """Entry of the library of qualities, which gives what is left open here: summarisation/faithfulness."""
    task: str = ""
    """For models: what kind of text is judged, in a sentence."""
    output: str = ""
    """For models: what the judged text is called, such as Summary."""
    steps: list[str] = []
    """For models: how to proceed."""
    leave_aside: str = ""
    """For models: what does not count here."""
    lowest: str = ""
    highest: str = ""
    """For models: what the ends of the scale mean."""


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
        refuse(self._mistakes())
        return self

    def _mistakes(self) -> Iterator[tuple[PathInValue, str]]:
        if self.kind == "aspect" and not self.aspects:
            yield ("aspects",), "items of kind 'aspect' need a list of aspects"
        keys = [aspect.key for aspect in self.aspects]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                yield ("aspects", position, "name"), f"two aspects have the key {key!r}; rename one or remove it"
        if self.kind == "span" and self.spans_from is None:
            yield ("spans_from",), "items of kind 'span' need spans_from, the campaign whose spans are judged"


class BatchSettings(Strict):
    """How items are put together for one annotator at a time."""

    regular: int = Field(default=10, ge=0)
    """Items with unknown answers in a batch (the last batch may have fewer); with 0 there is one batch, of gold alone."""
    attention: int = Field(default=0, ge=0)
    """Attention checks mixed into each batch, drawn from the must-mark, must-abstain and known-answer checks."""
    gold: int = Field(default=0, ge=0)
    """Gold items mixed into each batch."""
    sampling: Literal["partition", "sample"] = "partition"
    """``partition`` puts every item into one batch, ``sample`` draws each batch at random."""
    batches: int | None = Field(default=None, ge=1)
    """Number of batches when sampling."""
    positions: Literal["random", "spread", "fixed"] = "random"
    """Where checks stand: anywhere, evenly apart, or always in the same places."""
    balance: list[Annotated[str, StringConstraints(pattern=r"^(system|example|split|length|source\..+)$")]] = []
    """Spread these evenly over the batches: ``system``, ``example``, ``split``, ``length`` (see ``lengths``), or what stands in a
    field of the source, such as ``source.category``."""
    lengths: list[int] = []
    """Bounds between shorter and longer texts, in characters. Unless balanced over ``length``, a batch holds texts of one length
    only; it is that of an item's longest output."""
    seed: int = 42

    @model_validator(mode="after")
    def _consistent(self) -> "BatchSettings":
        refuse(self._mistakes())
        return self

    def _mistakes(self) -> Iterator[tuple[PathInValue, str]]:
        if any(bound < 1 for bound in self.lengths) or sorted(set(self.lengths)) != self.lengths:
            yield ("lengths",), "lengths must be positive and rising, such as [200, 600]"
        if "length" in self.balance and not self.lengths:
            yield ("lengths",), "to balance over length, say what is short and what is long: lengths: [300]"
        if self.sampling == "sample" and self.batches is None:
            yield ("batches",), "sampling needs the number of batches; state batches, or use sampling: partition"
        if self.regular == 0 and self.gold == 0:
            yield ("regular",), "a batch without regular items needs gold items; set regular, gold, or both"


class Group(Named):
    """Annotators who see their own wording; every batch is offered to each group."""


class AnnotatorSettings(Strict):
    """How many annotators each output gets, and how long one may hold a batch."""

    per_output: float = Field(default=1, ge=1, le=10_000)
    """Annotators per output and group; 1.4 means once, and 40 % of the batches twice."""
    lease_minutes: int = Field(default=60, ge=1, le=10080)
    """A batch untouched for so long returns to the pool; saves, and whatever else shows that somebody is at work, renew the lease."""
    max_batches: int = Field(default=1, ge=1)
    """Batches one person may do."""
    exclude_campaigns: list[Slug] = []
    """People who annotated an output in one of these campaigns do not get it here."""
    invited: list[str] = []
    """Platform ids that may enter; everybody when empty."""
    withdrawn: Literal["leave_out", "delete"] = "leave_out"
    """What becomes of the work of somebody who withdraws: kept but in no figure, or deleted at once."""
    when_full: Literal["page", "redundancy"] = "page"
    """When every slot is taken: a friendly page, or useful paid redundancy, a further annotator on the batch with the fewest."""
    redundancy: int = Field(default=1, ge=1, le=1000)
    """With ``when_full: redundancy``, at most so many annotators more on a batch than promised."""
