"""Base class of reports: typed values in the program, JSON in the database, in output and in downloads."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Self

from pydantic import TypeAdapter

OMITTED_WHEN_NONE: Mapping[str, bool] = {"omitted when None": True}
"""Metadata of a field that JSON leaves out if it is None. Other fields are null in JSON."""


def to_json(value: Any) -> Any:
    """Return dataclasses as dictionaries and sequences as lists, at every depth."""
    # Not `dataclasses.asdict`, which cannot leave fields out.
    if is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: to_json(own)
            for one in fields(value)
            if (own := getattr(value, one.name)) is not None or one.metadata != OMITTED_WHEN_NONE
        }
    if isinstance(value, Mapping):
        return {name: to_json(own) for name, own in value.items()}
    return [to_json(own) for own in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, kw_only=True)
class Report:
    """Report of a computation. Each kind of result has a subclass."""

    signature: str = ""
    """Signature of the campaigns, their data, the options and the version. Empty before the report is stored."""
    version: str = ""
    """Version of spanplat that computed or read the report."""

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON for ``--json`` and downloads. The signature comes last."""
        document: dict[str, Any] = to_json(self)
        marks = {name: document.pop(name) for name in ("signature", "version")}
        return document | {name: mark for name, mark in marks.items() if mark}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a report that `as_json` wrote."""
        report: Self = _adapter(cls).validate_python(document)  # type: ignore[arg-type]  # mypy: classes are hashable
        return report


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    # Cached, because pydantic builds a validator for each adapter.
    return TypeAdapter(kind)
