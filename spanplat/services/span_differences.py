"""How the spans of an annotation differ from those that reading its reply again gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spanplat.models import Span

Values = dict[str, Any]
"""Columns of a span by name."""

_PLACE = ("side", "source_field", "start_offset", "end_offset")


@dataclass(frozen=True)
class SpanDifference:
    """How the spans of one annotation change."""

    kept: Sequence[tuple[int, int]]
    """Ids of rows that stay, with their new positions."""
    changed: Sequence[tuple[int, Values, Values]]
    """Ids of rows that change, with their values before and after."""
    removed: Sequence[tuple[int, Values]]
    added: Sequence[Values]

    @property
    def moved(self) -> int:
        """How many of those that change get another place."""
        return sum(any(before[name] != after[name] for name in _PLACE) for _, before, after in self.changed)


def difference(before: Sequence[Span], after: Sequence[Values]) -> SpanDifference:
    """Compare stored spans with those read now: what is the same, what changes, what goes, what comes.

    A span that changes is the same quote under the same category at another place, or at the same place with something else changed.
    """
    old = {span.id: _values_of(span) for span in before}
    new = list(range(len(after)))
    pairs: list[tuple[int, int]] = []
    for same in (_same_values, _same_quote, _same_place):
        for identifier in list(old):
            match = next((number for number in new if same(old[identifier], after[number])), None)
            if match is not None and identifier not in {taken for taken, _ in pairs}:
                pairs.append((identifier, match))
                new.remove(match)
    taken = {identifier for identifier, _ in pairs}
    kept = [(identifier, number) for identifier, number in pairs if _same_values(old[identifier], after[number])]
    changed = [
        (identifier, old[identifier], dict(after[number]))
        for identifier, number in pairs
        if not _same_values(old[identifier], after[number])
    ]
    removed = [(identifier, values) for identifier, values in old.items() if identifier not in taken]
    return SpanDifference(kept, changed, removed, [after[number] for number in new])


def _values_of(span: Span) -> Values:
    names = (
        "position", "category_id", "start_offset", "end_offset", "text", "side", "source_field", "subcategory", "severity", "reason",
        "origin",
    )  # fmt: skip
    return {name: getattr(span, name) for name in names}


def _same_values(before: Values, after: Values) -> bool:
    return all(before[name] == after[name] for name in after if name != "position")


def _same_quote(before: Values, after: Values) -> bool:
    return before["category_id"] == after["category_id"] and _quote(before) == _quote(after)


def _same_place(before: Values, after: Values) -> bool:
    return all(before[name] == after[name] for name in _PLACE)


def _quote(values: Values) -> str:
    return str((values["origin"] or {}).get("quote", values["text"]))
