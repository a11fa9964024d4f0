"""Selection and order of the parts of a source that are shown."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from spanplat.rendering.context import is_record
from spanplat.schemas.source import SourceField, SourceSettings


class SelectedField(NamedTuple):
    """A field that is shown at the top."""

    field: SourceField
    value: Any


class SelectedSource(NamedTuple):
    """A source after the settings have been applied."""

    parts: Sequence[SelectedField]
    """Fields of the source that the settings name, in the settings' order."""
    rest: Any
    """Everything else that is shown; None if nothing is left."""


def select_fields(source: Any, settings: SourceSettings) -> SelectedSource:
    """Split a source into the named fields and the rest, without hidden fields; the source itself is not changed.

    >>> settings = SourceSettings(fields=[SourceField(path="city.name")], hide=["id"])
    >>> select_fields({"id": 3, "city": {"name": "Bear Creek", "id": 5}, "days": 2}, settings).rest
    {'days': 2}
    """
    rest = without(source, settings.hide)
    parts = []
    for field in settings.fields:
        steps = _steps(rest, field.path)
        if steps is None:
            continue
        value, rest = _take(rest, steps)
        parts.append(SelectedField(field, value))
    return SelectedSource(parts, None if settings.others == "hide" and settings.fields else _none_if_empty(rest, parts))


def without_field(source: Any, field: str) -> Any:
    """Return a source without a top-level field; None if nothing is left, or if the source is no object."""
    if not is_record(source):
        return None
    return {name: value for name, value in source.items() if name != field} or None


def without(value: Any, names: Sequence[str], path: str = "") -> Any:
    """Return a JSON value without the fields with these names or paths (paths have no positions in lists)."""
    if not names:
        return value
    if isinstance(value, list):
        return [without(entry, names, path) for entry in value]
    if not is_record(value):
        return value
    kept = {}
    for name, inner in value.items():
        here = f"{path}.{name}" if path else name
        if name not in names and here not in names:
            kept[name] = without(inner, names, here)
    return kept


def _steps(value: Any, path: str) -> list[str] | None:
    """Return the names on the path to a field; a name may itself contain dots."""
    if not is_record(value):
        return None
    if path in value:
        return [path]
    # The longest name first, so that a field "a.b" wins over a field "b" in "a".
    for name in sorted(value, key=len, reverse=True):
        if path.startswith(f"{name}."):
            further = _steps(value[name], path[len(name) + 1 :])
            if further is not None:
                return [name, *further]
    return None


def _take(record: dict[str, Any], steps: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Return the field at the end of the steps, and the record without it and without records that become empty."""
    first, *further = steps
    if not further:
        return record[first], {name: value for name, value in record.items() if name != first}
    value, inner = _take(record[first], further)
    return value, {name: inner if name == first else entry for name, entry in record.items() if name != first or inner}


def _none_if_empty(rest: Any, parts: Sequence[SelectedField]) -> Any:
    return None if parts and rest == {} else rest  # an empty source without named fields is shown as empty
