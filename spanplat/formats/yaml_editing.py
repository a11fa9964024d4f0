"""Editor of single values in a YAML text. Everything else stays as it was written, including comments."""

import io
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import LiteralScalarString

from spanplat.errors import InvalidInput
from spanplat.schemas.definition_file import LONGEST, MOST_VALUES
from spanplat.schemas.yaml_documents import DEEPEST, MaxDepthExceededError, YAMLError, limit_depth

Path = Sequence[str | int]

_TOO_DEEP = f"the text is not usable YAML: lists and mappings are nested more than {DEEPEST} deep"


class YamlText:
    """A YAML mapping whose values can be changed one by one.

    Parameters
    ----------
    text
        The text; an empty one is an empty mapping.

    Raises
    ------
    InvalidInput
        If it is not YAML, or no mapping.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise InvalidInput(f"the text has {len(text):,} characters; at most {LONGEST:,} are accepted")
        self._yaml = YAML()
        self._yaml.preserve_quotes = True
        self._yaml.width = 100_000  # ruamel must not break long lines again
        self._yaml.indent(mapping=2, sequence=4, offset=2)
        limit_depth(self._yaml)
        try:
            content = self._yaml.load(text)
        except MaxDepthExceededError as error:
            raise InvalidInput(_TOO_DEEP) from error
        except YAMLError as error:
            raise InvalidInput(f"the text is not valid YAML: {error}") from error
        if content is None:
            content = CommentedMap()
        if not isinstance(content, CommentedMap):
            raise InvalidInput("a campaign definition is a mapping (slug: …, title: …)")
        _require_bounds(content)
        self._content = content

    @property
    def content(self) -> dict[str, Any]:
        """The values as plain Python."""
        plain: dict[str, Any] = _plain(self._content)
        return plain

    def dump(self) -> str:
        """Return the text."""
        out = io.StringIO()
        self._yaml.dump(self._content, out)
        text = out.getvalue()
        return "" if text.strip() == "{}" else text  # an empty mapping began as an empty text

    def set(self, path: Path, value: Any) -> None:
        """Set the value at a path; missing mappings on the way are created."""
        place: Any = self._content
        for part in path[:-1]:
            if isinstance(place, CommentedMap) and place.get(part) is None:
                place[part] = CommentedMap()
            place = place[part]
        if isinstance(place, CommentedMap) and _plain(place.get(path[-1])) == value and path[-1] in place:
            return  # the same value stays as it was written, with its quotes, folding and comments
        place[path[-1]] = _written(value)

    def remove(self, path: Path) -> None:
        """Remove the value at a path, if there is one, and all mappings and lists that become empty."""
        place = self._find(path[:-1])
        if isinstance(place, CommentedMap) and path[-1] in place:
            del place[path[-1]]
            # An empty entry of a list stays: without it, the positions of the entries below would change.
            if not place and len(path) > 1 and isinstance(path[-2], str):
                self.remove(path[:-1])
        elif isinstance(place, CommentedSeq) and isinstance(path[-1], int) and path[-1] < len(place):
            del place[path[-1]]
            if not place:
                self.remove(path[:-1])

    def append(self, path: Path, value: Any) -> int:
        """Append an entry to the list at a path; create the list if there is none. Return the position of the entry."""
        entries = self._find(path)
        if not isinstance(entries, CommentedSeq):
            self.set(path, [])
            entries = self._find(path)
        entries.append(_written(value))
        return len(entries) - 1

    def move(self, path: Path, step: int) -> None:
        """Move an entry of a list up (-1) or down (1); the first and the last entry cannot leave the list."""
        entries, position = self._find(path[:-1]), path[-1]
        if isinstance(entries, CommentedSeq) and isinstance(position, int) and 0 <= position + step < len(entries):
            entry = entries.pop(position)
            entries.insert(position + step, entry)

    def _find(self, path: Path) -> Any:
        place: Any = self._content
        for part in path:
            try:
                place = place[part]
            except (KeyError, IndexError, TypeError):
                return None
        return place


def _require_bounds(content: Any) -> None:
    """Refuse content that is too deep or too large when its aliases are expanded.

    An alias may contain itself, or a few lines of aliases may stand for billions of values. The walk goes level by level, because a
    recursive function would fail on them.
    """
    level, values = [content], 0
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for entry in level:
            inner.extend(entry.values() if isinstance(entry, CommentedMap) else entry)
            if values + len(inner) > MOST_VALUES:
                raise InvalidInput(
                    f"the text is not usable YAML: it holds more than {MOST_VALUES:,} values (aliases count each time they are used)"
                )
        values += len(inner)
        level = [entry for entry in inner if isinstance(entry, CommentedMap | CommentedSeq)]
        if not level:
            return
    raise InvalidInput(_TOO_DEEP)


def _written(value: Any) -> Any:
    """Prepare a value for writing; a text of several lines becomes a literal block."""
    if isinstance(value, str) and "\n" in value:
        return LiteralScalarString(value)
    if isinstance(value, dict):
        return CommentedMap((key, _written(entry)) for key, entry in value.items())
    if isinstance(value, list):
        return CommentedSeq([_written(entry) for entry in value])
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, CommentedMap):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, CommentedSeq):
        return [_plain(entry) for entry in value]
    if isinstance(value, bool):  # before int, of which bool is a subclass
        return bool(value)
    # The library's scalars are subclasses that also remember how they were written.
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return value
