"""Entries of a reply's JSON value. Models use many names for the parts of a span."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spanplat.schemas.reply import QuotedSpan

LISTS = (
    "annotations", "annotation", "errors", "error", "error_spans", "error_list", "spans", "issues", "mistakes", "problems", "findings",
    "results", "result", "labels", "entities", "highlights",
)  # fmt: skip
ANSWERS = ("answers", "ratings", "scores")

# The name that the prompt asks for comes first, then names that models use instead.
_TEXT = (
    "text", "quote", "span", "error_span", "error_text", "span_text", "marked_text", "passage", "exact_text", "exact_quote", "excerpt",
    "substring", "phrase", "snippet", "fragment", "words", "location",
)  # fmt: skip
_CATEGORY = (
    "category", "type", "label", "error_type", "error_category", "annotation_type", "category_name", "category_index", "class", "kind",
    "tag",
)  # fmt: skip
_REASON = ("reason", "explanation", "rationale", "justification", "comment", "description", "why", "note", "analysis")
_CONTEXT = ("context", "span_with_context", "surrounding_text", "surroundings", "sentence")
_SUBCATEGORY = ("subcategory", "sub_category", "subtype", "error_subtype", "subcategory_name")
_SEVERITY = ("severity", "severity_level", "level", "seriousness")
_OCCURRENCE = ("occurrence", "occurrence_index")
_SIDE = ("side", "where", "in")
_SOURCE_NAMES = frozenset({"source", "input", "original", "data", "reference"})
_WRAPPED_DEEPEST = 3


class InvalidEntry(NamedTuple):
    """An element of the list that is not a span, and the reason."""

    record: Any
    reason: str


@dataclass(frozen=True)
class Entries:
    """The parts of an answer."""

    spans: Sequence[QuotedSpan | InvalidEntry]
    answers: dict[str, Any]


def is_entry(value: Any) -> bool:
    """Return whether a value looks like one span: it has a passage, and a category, reason or severity."""
    parts = _named(value)
    return _first(parts, _TEXT) is not None and any(name in parts for name in (*_CATEGORY, *_REASON, *_SEVERITY))


def is_answer(value: Any) -> bool:
    """Return whether a value has the shape of an answer: a list of spans, or an object with such a list."""
    return _list_of(value) is not None


def read_entries(value: Any) -> Entries:
    """Read the spans and answers of a value that `is_answer` accepts."""
    found = _list_of(value)
    listed, holder = found if found is not None else ([], {})
    answers: dict[str, Any] = next((holder[name] for name in ANSWERS if isinstance(holder.get(name), dict)), {})
    return Entries([_entry(element) for element in listed], answers)


def _list_of(value: Any, depth: int = 0) -> tuple[list[Any], dict[str, Any]] | None:
    """Return the list of spans in a value, with the object that contains it."""
    if isinstance(value, list):
        inner = value[0] if len(value) == 1 else None
        if isinstance(inner, dict) and not is_entry(inner):  # an object with the list, put into a list
            return _list_of(inner, depth + 1)
        return (value, {}) if not value or any(is_entry(element) for element in value) else None
    if not isinstance(value, dict) or depth > _WRAPPED_DEEPEST:
        return None
    if is_entry(value):
        return [value], {}
    parts = _named(value)
    for name in LISTS:
        if name in parts:
            # Only under the name that the prompt asks for: under other names, objects without a passage may be
            # anything.
            if name == LISTS[0] and _is_meant_for_entries(parts[name]):
                return parts[name], parts
            inside = _list_of(parts[name], depth + 1)
            return (inside[0], parts) if inside else None
    # Under an unknown name, a list counts only if it is the only candidate. An empty one must also be the only member.
    found = [
        inside for held in parts.values() if isinstance(held, (dict, list)) and (inside := _list_of(held, depth + 1))
    ]
    return found[0] if len(found) == 1 and (found[0][0] or len(parts) == 1) else None


def _is_meant_for_entries(value: Any) -> bool:
    """Return whether a list has only objects with a category. They are entries, even if none of them has a passage."""
    if not isinstance(value, list) or not value or not all(isinstance(element, dict) for element in value):
        return False
    return all(_first(_named(element), _CATEGORY, numbers=True) is not None for element in value)


def _entry(element: Any) -> QuotedSpan | InvalidEntry:
    if not isinstance(element, dict):
        return InvalidEntry(element, "is not an object with a passage and a category")
    parts = _named(element)
    text = _first(parts, _TEXT)
    if text is None:
        return InvalidEntry(element, "has no passage (text)")
    category = _first(parts, _CATEGORY, numbers=True)
    subcategory = _first(parts, _SUBCATEGORY)
    occurrence = next((number for name in _OCCURRENCE if (number := _whole(parts.get(name))) is not None), None)
    side = _first(parts, _SIDE)
    return QuotedSpan(
        reason=_first(parts, _REASON),
        text=text,
        context=_first(parts, _CONTEXT),
        category=category or "",
        subcategory=subcategory,
        # A number outside this range is no count, and the quote is placed without it.
        occurrence=occurrence if occurrence is not None and 0 <= occurrence < 10**6 else None,
        severity=_first(parts, _SEVERITY, numbers=True),
        side=None if side is None else "source" if side.casefold() in _SOURCE_NAMES else "output",
    )


def _whole(held: Any) -> int | None:
    if isinstance(held, str) and held.strip().isascii() and held.strip().isdecimal():
        held = int(held.strip()[:9])  # int() refuses texts of more than 4,300 digits
    return held if isinstance(held, int) and not isinstance(held, bool) else None


def _named(value: Any) -> dict[str, Any]:
    """Return the members of an object by their names in lower case, with underscores between words."""
    if not isinstance(value, dict):
        return {}
    return dict(_renamed(value))


def _renamed(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for name, held in value.items():
        yield "_".join(str(name).casefold().replace("-", " ").replace("_", " ").split()), held


def _first(parts: dict[str, Any], names: Sequence[str], *, numbers: bool = False) -> str | None:
    """Return the first of these members that is a text (or a number, if ``numbers`` is set)."""
    for name in names:
        held = parts.get(name)
        if isinstance(held, str):
            return held
        if numbers and isinstance(held, (int, float)) and not isinstance(held, bool):  # a bool is an int in Python
            return f"{held:g}"
    return None
