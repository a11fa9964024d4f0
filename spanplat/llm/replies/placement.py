"""Placing a model's quotes in the text: where each goes and by which rule, or why it has no place."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from spanplat.llm.item import AskedItem
from spanplat.llm.replies.categories import Meant, find_category, find_severity
from spanplat.llm.replies.entries import NoEntry
from spanplat.schemas.categories import Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.reply import QuotedSpan
from spanplat.text import Located, NotLocated, locate_quote

Placement = Literal["in_order", "first"]

WHOLE = "whole text"
"""The rule of spans that cover the text as a whole, whatever their quote."""

_PAIRS = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "‘": "’", "`": "`", "「": "」"}
# Signs that keyboards and models write in several ways; each is one character, so offsets stay.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛′ʼ`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—−", "-")
)
_ELLIPSES = ("…", "...", ". . .")


@dataclass(frozen=True)
class LocatedSpan:
    """A span with its place (half-open code points) and the rule that found it."""

    start: int
    end: int
    text: str
    """What stands there."""
    category: str
    """Key."""
    rule: str
    quote: str
    """As the model gave it."""
    side: Literal["output", "source"] = "output"
    source_field: str | None = None
    subcategory: str | None = None
    severity: str | None = None
    reason: str | None = None
    doubts: Mapping[str, str] = field(default_factory=dict)
    """What of the entry could not be used as it stands: an unknown severity or subcategory."""

    @property
    def origin(self) -> dict[str, Any]:
        """What is kept beside the span: the rule, the quote where it differs, and doubts."""
        changed = {"quote": self.quote} if self.quote != self.text else {}
        return {"rule": self.rule, **changed, **self.doubts}


@dataclass(frozen=True)
class UnplacedSpan:
    """An entry without a place, and why."""

    record: dict[str, Any]
    reason: str


def place_spans(
    quotes: Sequence[QuotedSpan | NoEntry],
    definition: CampaignDefinition,
    item: AskedItem,
    *,
    placement: Placement = "in_order",
    fuzzy: float = 0.0,
) -> list[LocatedSpan | UnplacedSpan]:
    """Place a model's spans, in the order given.

    Parameters
    ----------
    quotes
        What the model marked.
    definition
        The campaign: its categories, severities, and whether spans may overlap.
    item
        The texts; the first is the one that spans of the output side stand in.
    placement
        Where the k-th mention of a repeated quote goes: to its k-th occurrence, or always to the first.
    fuzzy
        Share of a quote's characters that may differ when nothing else finds it; 0 turns this off.

    Returns
    -------
    list of LocatedSpan or UnplacedSpan
        One for each entry.
    """
    placer = _Placer(definition, item, placement, fuzzy)
    placed = [placer.place(quote) for quote in quotes]
    whole = next((found for found in placed if isinstance(found, LocatedSpan) and found.rule == WHOLE), None)
    if whole is None:
        return placed
    category = next(entry for entry in definition.categories if entry.key == whole.category)
    reason = f"the text is marked {category.name!r} as a whole, and then nothing else is"
    return [
        found if found is whole else _instead(found, quote, reason) for found, quote in zip(placed, quotes, strict=True)
    ]


def _instead(found: LocatedSpan | UnplacedSpan, quote: QuotedSpan | NoEntry, reason: str) -> UnplacedSpan:
    return found if isinstance(found, UnplacedSpan) else UnplacedSpan(_record(quote), reason)


class _Mention(NamedTuple):
    """How often a quote was given before: letter by letter, and whatever its case and white space."""

    as_given: int
    folded: int

    def among(self, exact: bool) -> int:
        """Return the number among the places that are looked at: those that stand there exactly, or all."""
        return self.as_given if exact else self.folded


@dataclass
class _Placer:
    definition: CampaignDefinition
    item: AskedItem
    placement: Placement
    fuzzy: float
    mentions: dict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))
    spans: list[LocatedSpan] = field(default_factory=list)

    def place(self, quote: QuotedSpan | NoEntry) -> LocatedSpan | UnplacedSpan:
        if isinstance(quote, NoEntry):
            return UnplacedSpan(_record(quote), f"an entry {quote.reason}")
        meant = self._category(quote)
        side = _side(quote, meant.category) if meant else "output"
        mention = self._count_mention(quote, side)
        if meant is None:
            reason = f"unknown category {quote.category!r}" if quote.category.strip() else "it names no category"
            return UnplacedSpan(_record(quote), reason)
        if side is None:
            return UnplacedSpan(
                _record(quote), f"spans of {meant.category.name!r} stand in the output, not in the source"
            )
        found = self._located(quote, meant, side, mention)
        if isinstance(found, str):
            return UnplacedSpan(_record(quote), found)
        if self.definition.spans.overlap == "forbid" and any(_overlap(found, span) for span in self.spans):
            return UnplacedSpan(_record(quote), "it overlaps an earlier span, which the campaign forbids")
        self.spans.append(found)
        return found

    def _category(self, quote: QuotedSpan) -> Meant | None:
        categories = self.definition.categories
        if not quote.category.strip():
            return Meant(categories[0], None, "only one") if len(categories) == 1 else None
        return find_category(categories, quote.category, quote.subcategory)

    def _count_mention(self, quote: QuotedSpan, side: str | None) -> _Mention:
        as_given = (side or "", "as given", quote.text)
        folded = (side or "", "folded", " ".join(quote.text.casefold().split()))
        mention = _Mention(self.mentions[as_given], self.mentions[folded])
        for name in (as_given, folded):
            self.mentions[name] += 1
        return mention

    def _located(
        self, quote: QuotedSpan, meant: Meant, side: Literal["output", "source"], mention: _Mention
    ) -> LocatedSpan | str:
        if meant.category.exclusive:
            text = self.item.text
            return self._span(quote, meant, text, WHOLE) if text else "the text is empty"
        texts: dict[str | None, str] = {None: self.item.text}
        if side == "source":
            texts = dict(self.item.source_texts.items())
        if not texts:
            return "the source has no text in which it could be found"
        search = _Search(quote, mention, self.placement, self.fuzzy)
        results = {name: search.run(text) for name, text in texts.items()}
        found = {name: result for name, result in results.items() if not isinstance(result, NotLocated)}
        if len(found) > 1:
            return "the quote occurs in several fields of the source, and nothing says which one is meant"
        if not found:
            failed = [result for result in results.values() if isinstance(result, NotLocated)]
            return _why_not_found(quote.text, failed)
        ((name, (place, rule)),) = found.items()
        passage = texts[name][place.start : place.end]
        return replace(
            self._span(quote, meant, passage, rule), start=place.start, end=place.end, side=side, source_field=name
        )

    def _span(self, quote: QuotedSpan, meant: Meant, passage: str, rule: str) -> LocatedSpan:
        """Make a span over a passage at the beginning of the output; its place is put in by the caller."""
        severity, doubts = quote.severity, dict[str, str]()
        if severity is not None and self.definition.severities:
            severity = find_severity(self.definition.severities, severity)
            if severity is None:
                doubts["severity"] = f"unknown: {quote.severity}"
        if quote.subcategory and meant.subcategory is None:
            doubts["subcategory"] = f"unknown: {quote.subcategory}"
        if meant.by != "name":
            doubts["category"] = f"by {meant.by}: {quote.category}"
        return LocatedSpan(
            start=0,
            end=len(passage),
            text=passage,
            category=meant.category.key,
            rule=rule,
            quote=quote.text,
            subcategory=meant.subcategory,
            severity=severity,
            reason=quote.reason,
            doubts=doubts,
        )


@dataclass(frozen=True)
class _Search:
    """The search for one quote in one text, by one rule after the other."""

    quote: QuotedSpan
    mention: _Mention
    placement: Placement
    fuzzy: float

    def run(self, text: str) -> tuple[Located, str] | NotLocated:
        first = self._one(text, self.quote.text, self.quote.context)
        if not isinstance(first, NotLocated) or first.ambiguous:
            return first
        for quote, loose in _loosened(self.quote.text):
            context = self.quote.context
            if loose.startswith("ignoring"):
                found = self._one(text.translate(_TYPOGRAPHY), quote, context and context.translate(_TYPOGRAPHY))
            else:
                found = self._one(text, quote, context)
            if not isinstance(found, NotLocated):
                return found[0], f"{found[1]}, {loose}"
            if found.ambiguous:
                return found
        if self.fuzzy > 0:
            near = locate_quote(text, self.quote.text, near=self._context_start(text), most_edits=self.fuzzy)
            return near if isinstance(near, NotLocated) else (near, _rule(near))
        return first

    def _one(self, text: str, quote: str, context: str | None) -> tuple[Located, str] | NotLocated:
        """Look for a quote; of several places its context decides, an occurrence it names, or the order of mentions."""
        if self.placement == "first":
            found = locate_quote(text, quote, occurrence=0)
            if isinstance(found, NotLocated):
                return found
            return found, found.rule if found.chosen_by == "only-one" else f"{found.rule}, first"
        found = locate_quote(text, quote)
        if isinstance(found, Located):
            return found, _rule(found)
        if not found.ambiguous:
            return found
        if context and (inside := _inside(text, quote, context)):
            return inside, f"{inside.rule}, context"
        occurrence = self.quote.occurrence
        if occurrence is not None:
            counted = locate_quote(text, quote, occurrence=occurrence)
            missing = f"has no occurrence {occurrence} (counted from 0)"
        else:
            counted = locate_quote(text, quote, occurrence=self.mention.among(quote in text))
            missing = "is given more often than it occurs"
        if isinstance(counted, NotLocated):
            return NotLocated(missing, ambiguous=True)
        return counted, f"{counted.rule}, {'order' if occurrence is None else 'occurrence'}"

    def _context_start(self, text: str) -> int | None:
        if not self.quote.context:
            return None
        place = locate_quote(text, self.quote.context)
        return place.start if isinstance(place, Located) else None


def _inside(text: str, quote: str, context: str) -> Located | None:
    """Find a quote within the only place of its context."""
    around = locate_quote(text, context)
    if isinstance(around, NotLocated):
        return None
    place = locate_quote(text[around.start : around.end], quote)
    if isinstance(place, NotLocated):
        return None
    return Located(around.start + place.start, around.start + place.end, place.rule)


def _loosened(quote: str) -> list[tuple[str, str]]:
    """Return what else to look for: the quote without quotation marks around it, and with plain quotation marks and dashes."""
    ways = []
    bare = quote.strip()
    if len(bare) > 2 and _PAIRS.get(bare[0]) == bare[-1]:
        bare = bare[1:-1]
        ways.append((bare, "without its quotation marks"))
    ways.append((quote.translate(_TYPOGRAPHY), "ignoring-typography"))
    if bare != quote.strip():
        ways.append((bare.translate(_TYPOGRAPHY), "ignoring-typography, without its quotation marks"))
    return ways


def _rule(found: Located) -> str:
    return found.rule if found.chosen_by == "only-one" else f"{found.rule}, {found.chosen_by}"


def _why_not_found(quote: str, results: Sequence[NotLocated]) -> str:
    """Say why a quote has no place in any of the texts: that it has several comes first."""
    ambiguous = next((result for result in results if result.ambiguous), None)
    if ambiguous is not None:
        return f"the quote {ambiguous.reason}"
    shortened = any(sign in quote for sign in _ELLIPSES)
    return f"the quote {results[0].reason}" + (": it is shortened" if shortened else "")


def _side(quote: QuotedSpan, category: Category) -> Literal["output", "source"] | None:
    """Return the side a span stands on; None where its category does not allow the one the model names."""
    if category.side == "source":
        return "source"
    if category.side == "output":
        return None if quote.side == "source" else "output"
    return quote.side or "output"


def _overlap(one: LocatedSpan, other: LocatedSpan) -> bool:
    same_text = (one.side, one.source_field) == (other.side, other.source_field)
    return same_text and one.start < other.end and other.start < one.end


def _record(quote: QuotedSpan | NoEntry) -> dict[str, Any]:
    if isinstance(quote, QuotedSpan):
        return quote.model_dump(mode="json", exclude_none=True)
    return quote.record if isinstance(quote.record, dict) else {"entry": quote.record}
