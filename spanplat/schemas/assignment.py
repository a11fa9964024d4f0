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
    """Top-level text field of the source in which categories of side ``source`` or ``both`` are marked. A source that is only a text
    needs no name."""
    min_characters: int | None = Field(default=None, ge=0)
    max_characters: int | None = Field(default=None, ge=1)
    """Short and long texts can be separate campaigns."""
    limit: int | None = Field(default=None, ge=1)
    """At most this many outputs, drawn with ``seed``."""
    seed: int = 42
    source: SourceSettings = SourceSettings()
    """Rendering of sources."""

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
    """Entry of the library of qualities that fills the fields left empty here, such as summarisation/faithfulness."""
    task: str = ""
    """For models: the kind of text that is judged, in a sentence."""
    output: str = ""
    """For models: the name of the judged text, such as Summary."""
    steps: list[str] = []
    """For models: the steps of the judgement."""
    leave_aside: str = ""
    """For models: points that do not count here."""
    lowest: str = ""
    highest: str = ""
    """For models: the meanings of the ends of the scale."""


class ItemSettings(Strict):
    """The unit that an annotator is asked about at once."""

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
    """Grouping of items into batches; an annotator works on one batch at a time."""

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
    """Positions of checks: anywhere, evenly apart, or always in the same places."""
    balance: list[Annotated[str, StringConstraints(pattern=r"^(system|example|split|length|source\..+)$")]] = []
    """Spread these evenly over the batches: ``system``, ``example``, ``split``, ``length`` (see ``lengths``), or the value of a
    field of the source, such as ``source.category``."""
    lengths: list[int] = []
    """Bounds between shorter and longer texts, in characters. Unless balanced over ``length``, a batch holds texts of one length
    only. An item has the length of its longest output."""
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
    """A batch without activity for this long returns to the pool. Saves and other signs of activity renew the lease."""
    max_batches: int = Field(default=1, ge=1)
    """Batches one person may do."""
    exclude_campaigns: list[Slug] = []
    """People who annotated an output in one of these campaigns do not get it here."""
    invited: list[str] = []
    """Platform ids that may enter; everybody when empty."""
    withdrawn: Literal["leave_out", "delete"] = "leave_out"
    """Treatment of the work of people who withdraw: kept but in no figure, or deleted at once."""
    when_full: Literal["page", "redundancy"] = "page"
    """When every seat is taken: a friendly page, or paid work as a further annotator of the batch with the fewest annotators."""
    redundancy: int = Field(default=1, ge=1, le=1000)
    """With ``when_full: redundancy``, the maximum number of further annotators of a batch."""
