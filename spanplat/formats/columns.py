"""Guess of the role of each column in a dataset file, from common column names and a few rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.schemas.slug import slugify

# For each role its common names, the clearest first; compared after slugifying.
_ALIASES: dict[str, tuple[str, ...]] = {
    "dataset": ("dataset", "dataset-id", "dataset-name", "corpus"),
    "split": ("split", "subset", "partition"),
    "key": (
        "key", "example-idx", "example-id", "example", "idx", "id", "index", "item-id", "doc-id", "document-id",
        "seg-id", "segment-id", "sentence-id",
    ),
    "system": ("system", "setup-id", "setup", "system-id", "system-name", "model", "model-name", "model-id", "engine"),
    "text": (
        "output", "text", "prediction", "hypothesis", "generated-text", "generated", "generation", "model-output",
        "candidate", "translation", "summary", "response", "completion", "answer", "target", "mt", "hyp",
    ),
    "source": ("source", "input", "inputs", "data", "src", "context", "document", "article", "source-text", "prompt",
    "question"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Name of the column for each role; None if no column has the role."""

    dataset: str | None = None
    split: str | None = None
    key: str | None = None
    system: str | None = None
    text: str | None = None
    source: str | None = None
    unused: tuple[str, ...] = ()
    """Columns without a role, in the order of the file."""

    def overridden(self, columns: Sequence[str], overrides: Mapping[str, str | None]) -> "ColumnMapping":
        """Return a mapping in which some roles have other columns (None: no column).

        Raises
        ------
        InvalidInput
            A role or a column does not exist.
        """
        for role, column in overrides.items():
            if role not in _ALIASES:
                raise InvalidInput(f"There is no role {role!r} for a column; roles are {', '.join(_ALIASES)}.")
            if column is not None and column not in columns:
                raise InvalidInput(f"There is no column {column!r} for the {role}; columns are {', '.join(columns)}.")
        # A column with an explicit role loses its guessed role.
        guessed = {role: getattr(self, role) for role in _ALIASES}
        kept = {role: None if column in overrides.values() else column for role, column in guessed.items()}
        return _mapping({**kept, **overrides}, columns)


def _mapping(roles: Mapping[str, str | None], columns: Sequence[str]) -> ColumnMapping:
    return ColumnMapping(
        dataset=roles["dataset"],
        split=roles["split"],
        key=roles["key"],
        system=roles["system"],
        text=roles["text"],
        source=roles["source"],
        unused=tuple(column for column in columns if column not in roles.values()),
    )


def guess_mapping(columns: Sequence[str], sample: Sequence[Mapping[str, Any]]) -> ColumnMapping:
    """Guess the role of each column.

    Parameters
    ----------
    columns
        All columns of the file, in order.
    sample
        Some rows. A column can be the text only if at least half of its values are strings. It can be a name or a key only if at
        least half are strings or whole numbers.

    Returns
    -------
    ColumnMapping
        None for every role without a column of a known name.
    """
    by_slug: dict[str, str] = {}
    for column in columns:
        by_slug.setdefault(slugify(column), column)
    found: dict[str, str | None] = {}
    for role, aliases in _ALIASES.items():
        candidates = (by_slug[alias] for alias in aliases if alias in by_slug)
        found[role] = next((column for column in candidates if _fits(role, column, sample)), None)
    return _mapping(found, columns)


def _fits(role: str, column: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    if role == "source":
        return True
    allowed = str if role == "text" else str | int
    values = [row[column] for row in sample if row.get(column) is not None]
    fitting = sum(isinstance(value, allowed) and not isinstance(value, bool) for value in values)
    # A few bad rows do not hide the role of the column. They are reported when they are read.
    return 2 * fitting >= len(values)
