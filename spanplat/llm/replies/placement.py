"""Placement of a model's quotes in the text: the place and the rule that found it, or the reason why there is none."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from spanplat.llm.item import AskedItem
from spanplat.llm.replies.categories import ResolvedCategory, find_category, find_severity
from spanplat.llm.replies.entries import InvalidEntry
from spanplat.schemas.categories import Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.reply import QuotedSpan
from spanplat.schemas.span import MarkedSpan
from spanplat.schemas.unplaced import UnplacedRecord
from spanplat.text import NotLocated, QuoteLocation, locate_quote

Placement = Literal["in_order", "first"]

WHOLE = "whole text"
"""Rule of spans that cover the whole text, whatever their quote is."""

_PAIRS = {'"': '"', "'": "'", "“": "”", "„": "“", "«": "»", "‘": "’", "`": "`", "「": "」"}
# Signs that keyboards and models write in several ways. Each is replaced by one character, so that offsets stay valid.
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛′ʼ`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—−", "-")
)
_ELLIPSES = ("…", "...", ". . .")


def rule_of(span: MarkedSpan) -> str:
    """Return the rule that placed a model's span."""
    return str((span.origin or {})["rule"])


def quote_of(span: MarkedSpan) -> str:
    """Return the passage as the model quoted it. It may differ from the text at the span's place."""
    return str((span.origin or {}).get("quote", span.text))


def place_spans(
    quotes: Sequence[QuotedSpan | InvalidEntry],
    definition: CampaignDefinition,
    item: AskedItem,
    *,
    placement: Placement = "in_order",
    fuzzy: float = 0.0,
) -> list[MarkedSpan | UnplacedRecord]:
    """Place a model's spans, in the order given.

    The origin of each span holds the rule that found it, the quote if it differs from the text, and the parts of the entry that could
    not be used, such as an unknown severity.

    Parameters
    ----------
    quotes
        Spans as the model quoted them.
    definition
        Definition of the campaign: categories, severities, and whether spans may overlap.
    item
        The texts. Spans of the output side are in the first one.
    placement
        Place of the k-th mention of a repeated quote: its k-th occurrence, or always the first.
    fuzzy
        Share of a quote's characters that may differ if no other rule finds it. 0 turns this off.

    Returns
    -------
    list of MarkedSpan or UnplacedRecord
        One result for each entry.
    """
    placer = _Placer(definition, item, placement, fuzzy)
    placed = [placer.place(quote) for quote in quotes]
    whole = next((found for found in placed if isinstance(found, MarkedSpan) and rule_of(found) == WHOLE), None)
    if whole is None:
        return placed
    category = next(entry for entry in definition.categories if entry.key == whole.category)
    reason = f"the text is marked {category.name!r} as a whole, and then nothing else is"
    return [
        found if found is whole else _instead(found, quote, reason) for found, quote in zip(placed, quotes, strict=True)
    ]


def _instead(found: MarkedSpan | UnplacedRecord, quote: QuotedSpan | InvalidEntry, reason: str) -> UnplacedRecord:
    return found if isinstance(found, UnplacedRecord) else UnplacedRecord(_record(quote), reason)


class _Mention(NamedTuple):
    """Number of earlier mentions of a quote: exactly as given, and ignoring case and white space."""

    as_given: int
    folded: int

    def among(self, exact: bool) -> int:
        """Return the number that matches the places searched: exact occurrences only, or all."""
        return self.as_given if exact else self.folded


@dataclass
class _Placer:
    definition: CampaignDefinition
    item: AskedItem
    placement: Placement
    fuzzy: float
    mentions: dict[tuple[str, ...], int] = field(default_factory=lambda: defaultdict(int))
    spans: list[MarkedSpan] = field(default_factory=list)

    def place(self, quote: QuotedSpan | InvalidEntry) -> MarkedSpan | UnplacedRecord:
        if isinstance(quote, InvalidEntry):
            return UnplacedRecord(_record(quote), f"an entry {quote.reason}")
        meant = self._category(quote)
        side = _side(quote, meant.category) if meant else "output"
        # Counted even if the category is unknown: the mention still stands for one occurrence of a repeated quote.
        mention = self._count_mention(quote, side)
        if meant is None:
            reason = f"unknown category {quote.category!r}" if quote.category.strip() else "it names no category"
            return UnplacedRecord(_record(quote), reason)
        if side is None:
            return UnplacedRecord(
                _record(quote), f"spans of {meant.category.name!r} stand in the output, not in the source"
            )
        found = self._located(quote, meant, side, mention)
        if isinstance(found, str):
            return UnplacedRecord(_record(quote), found)
        if self.definition.spans.overlap == "forbid" and any(_overlap(found, span) for span in self.spans):
            return UnplacedRecord(_record(quote), "it overlaps an earlier span, which the campaign forbids")
        # Only placed spans can be overlapped. A quote without a place blocks no other.
        self.spans.append(found)
        return found

    def _category(self, quote: QuotedSpan) -> ResolvedCategory | None:
        categories = self.definition.categories
        if not quote.category.strip():
            # A model need not name the only category.
            return ResolvedCategory(categories[0], None, "only one") if len(categories) == 1 else None
        return find_category(categories, quote.category, quote.subcategory)

    def _count_mention(self, quote: QuotedSpan, side: str | None) -> _Mention:
        as_given = (side or "", "as given", quote.text)
        folded = (side or "", "folded", " ".join(quote.text.casefold().split()))
        mention = _Mention(self.mentions[as_given], self.mentions[folded])
        for name in (as_given, folded):
            self.mentions[name] += 1
        return mention

    def _located(
        self, quote: QuotedSpan, meant: ResolvedCategory, side: Literal["output", "source"], mention: _Mention
    ) -> MarkedSpan | str:
        # Such a category is about the whole text, whatever the model quoted.
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
        # The same words in two fields: any choice would be a guess.
        if len(found) > 1:
            return "the quote occurs in several fields of the source, and nothing says which one is meant"
        if not found:
            failed = [result for result in results.values() if isinstance(result, NotLocated)]
            return _why_not_found(quote.text, failed)
        ((name, (place, rule)),) = found.items()
        passage = texts[name][place.start : place.end]
        return replace(self._span(quote, meant, passage, rule), start=place.start, end=place.end, side=side, field=name)

    def _span(self, quote: QuotedSpan, meant: ResolvedCategory, passage: str, rule: str) -> MarkedSpan:
        """Return a span over a passage at the beginning of the output. The caller sets its place."""
        severity, doubts = quote.severity, dict[str, str]()
        if severity is not None and self.definition.severities:
            severity = find_severity(self.definition.severities, severity)
            if severity is None:
                doubts["severity"] = f"unknown: {quote.severity}"
        if quote.subcategory and meant.subcategory is None:
            doubts["subcategory"] = f"unknown: {quote.subcategory}"
        if meant.by != "name":
            doubts["category"] = f"by {meant.by}: {quote.category}"
        differing = {"quote": quote.text} if quote.text != passage else {}
        return MarkedSpan(
            start=0,
            end=len(passage),
            category=meant.category.key,
            text=passage,
            subcategory=meant.subcategory,
            severity=severity,
            reason=quote.reason,
            origin={"rule": rule, **differing, **doubts},
        )


@dataclass(frozen=True)
class _Search:
    """Search for one quote in one text, by one rule after the other."""

    quote: QuotedSpan
    mention: _Mention
    placement: Placement
    fuzzy: float

    def run(self, text: str) -> tuple[QuoteLocation, str] | NotLocated:
        first = self._one(text, self.quote.text, self.quote.context)
        # An ambiguous quote is in the text, and a looser rule would not make it less ambiguous.
        if not isinstance(first, NotLocated) or first.ambiguous:
            return first
        for quote, loose in _loosened(self.quote.text):
            context = self.quote.context
            # Text, quote and context get the same plain form. Each sign becomes one character, so the offsets fit the
            # stored text.
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

    def _one(self, text: str, quote: str, context: str | None) -> tuple[QuoteLocation, str] | NotLocated:
        """Search for a quote. If it has several places, its context decides, then its occurrence, then the order of mentions."""
        if self.placement == "first":
            found = locate_quote(text, quote, occurrence=0)
            if isinstance(found, NotLocated):
                return found
            return found, found.rule if found.chosen_by == "only-one" else f"{found.rule}, first"
        found = locate_quote(text, quote)
        if isinstance(found, QuoteLocation):
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
        return place.start if isinstance(place, QuoteLocation) else None


def _inside(text: str, quote: str, context: str) -> QuoteLocation | None:
    """Find a quote within its context, if the context has exactly one place."""
    around = locate_quote(text, context)
    if isinstance(around, NotLocated):
        return None
    place = locate_quote(text[around.start : around.end], quote)
    if isinstance(place, NotLocated):
        return None
    return QuoteLocation(around.start + place.start, around.start + place.end, place.rule)


def _loosened(quote: str) -> list[tuple[str, str]]:
    """Return looser forms of a quote: without quotation marks around it, and with plain quotation marks and dashes."""
    ways = []
    bare = quote.strip()
    if len(bare) > 2 and _PAIRS.get(bare[0]) == bare[-1]:
        bare = bare[1:-1]
        ways.append((bare, "without its quotation marks"))
    ways.append((quote.translate(_TYPOGRAPHY), "ignoring-typography"))
    if bare != quote.strip():
        ways.append((bare.translate(_TYPOGRAPHY), "ignoring-typography, without its quotation marks"))
    return ways


def _rule(found: QuoteLocation) -> str:
    return found.rule if found.chosen_by == "only-one" else f"{found.rule}, {found.chosen_by}"


def _why_not_found(quote: str, results: Sequence[NotLocated]) -> str:
    """Return why a quote has no place in any of the texts. An ambiguous place is named first."""
    ambiguous = next((result for result in results if result.ambiguous), None)
    if ambiguous is not None:
        return f"the quote {ambiguous.reason}"
    shortened = any(sign in quote for sign in _ELLIPSES)
    return f"the quote {results[0].reason}" + (": it is shortened" if shortened else "")


def _side(quote: QuotedSpan, category: Category) -> Literal["output", "source"] | None:
    """Return the side of a span, or None if its category does not allow the side that the model names."""
    if category.side == "source":
        return "source"
    if category.side == "output":
        return None if quote.side == "source" else "output"
    return quote.side or "output"


def _overlap(one: MarkedSpan, other: MarkedSpan) -> bool:
    same_text = (one.side, one.field) == (other.side, other.field)
    return same_text and one.start < other.end and other.start < one.end


def _record(quote: QuotedSpan | InvalidEntry) -> dict[str, Any]:
    if isinstance(quote, QuotedSpan):
        return quote.model_dump(mode="json", exclude_none=True)
    return quote.record if isinstance(quote.record, dict) else {"entry": quote.record}
