"""Forms from schemas: every field of a schema becomes a node that a page can draw, so a form always has all settings of a file."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel

Path = tuple[str | int, ...]
NodeKind = Literal[
    "text", "long_text", "number", "integer", "checkbox", "select", "color", "lines", "pairs", "data", "list", "record"
]

ABSENT: Any = object()
"""Value of a field that is not in the file; None is a value that a file can state."""

LONG_TEXTS = frozenset(
    {"guidelines", "text", "final_message", "description", "pass_message", "fail_message", "message", "why"}
)
"""Text fields with several lines."""

LARGEST = 1e15
"""Largest number in a setting; up to here a double represents every whole number exactly."""
LONGEST_QUOTE = 40
"""Characters of the typed text that a message repeats."""
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
"""Characters that YAML does not accept unescaped."""

_PLACES = {"name": 0, "label": 0, "key": 1}
"""Order of fields: the name, then the key, which derives from it, then all others in their own order."""


@dataclass
class FormNode:
    """One field, or a record or list of fields."""

    path: Path
    kind: NodeKind
    label: str
    help: str = ""
    """Text from the docstring; values and fields are between double backticks."""
    value: Any = ABSENT
    """Value in the file; `ABSENT` if the file has none and the default applies."""
    default: Any = None
    is_required: bool = False
    is_optional_record: bool = False
    """Whether this is a record that may be left out."""
    options: Sequence[Any] = ()
    children: list["FormNode"] = field(default_factory=list)
    variants: Mapping[str, str] = field(default_factory=dict)
    """For a list: the types of entries that can be added, with their help; one type without a name if all entries are alike."""
    is_list_of_lists: bool = False
    is_mixed: bool = False
    """Whether values may be numbers and truth values as well as words."""
    variant: str = ""
    """For an entry of a list: its type."""

    @property
    def name(self) -> str:
        """Name of the form control: the path with dots."""
        return ".".join(str(part) for part in self.path)

    @property
    def is_stated(self) -> bool:
        """Whether the file states this field."""
        return self.value is not ABSENT

    @property
    def shown(self) -> Any:
        """Value that the control shows: the one in the file, else the default."""
        value = self.value if self.is_stated else self.default
        match self.kind:
            case "lines":
                return "\n".join(str(entry) for entry in value or ())
            case "pairs":
                return "\n".join(f"{key}: {entry}" for key, entry in (value or {}).items())
            case "data":
                return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)
            case _:
                return "" if value is None else value

    def leaves(self) -> Iterator["FormNode"]:
        """Yield the form controls of this node and of the nodes below it."""
        if self.kind not in ("list", "record"):
            yield self
        for child in self.children:
            yield from child.leaves()


class BadValue(ValueError):
    """The text in a control cannot be a value of its field."""


def form_of(shape: type[BaseModel], names: Sequence[str], content: Mapping[str, Any]) -> list[FormNode]:
    """Return the nodes for some fields of a schema.

    Parameters
    ----------
    shape
        The schema; its docstrings become the help.
    names
        Names of the fields.
    content
        Content of the file, valid or not.
    """
    schema = _schema_of(shape)
    reader = _SchemaReader(schema.get("$defs", {}))
    required = set(schema.get("required", ()))
    return [
        reader.node(schema["properties"][name], (name,), content.get(name, ABSENT), is_required=name in required)
        for name in names
    ]


@cache
def _schema_of(shape: type[BaseModel]) -> Mapping[str, Any]:
    return shape.model_json_schema(mode="validation")


def value_of(node: FormNode, typed: str | None) -> Any:
    """Parse the text in a control as the value of its field.

    Parameters
    ----------
    node
        The control.
    typed
        Its text; None for a box that is not ticked.

    Returns
    -------
    Any
        The value. `ABSENT` for an empty value, and for a default that was not in the file before; the file then has no entry.

    Raises
    ------
    BadValue
        If the text is no number, or no JSON, but must be. The message says what is wrong.
    """
    value = _parsed(node, typed)
    if value is ABSENT or (value == node.default and not node.is_stated and not node.is_required):
        return ABSENT
    return value


def _parsed(node: FormNode, typed: str | None) -> Any:
    text = (typed or "").replace("\r\n", "\n")
    _refuse_controls(text)
    match node.kind:
        case "checkbox":
            return typed is not None
        case "number" | "integer":
            return _number(text.strip(), whole=node.kind == "integer") if text.strip() else ABSENT
        case "lines":
            lines = [line.strip() for line in text.split("\n") if line.strip()]
            return [_scalar(line) if node.is_mixed else line for line in lines] or ABSENT
        case "pairs":
            return _pairs(text) or ABSENT
        case "data":
            return _json(text) if text.strip() else ABSENT
        case "long_text":
            return text if text.strip() else ABSENT
        case _:
            word = text.strip()
            return (_scalar(word) if node.is_mixed else word) if word else ABSENT


def _number(text: str, *, whole: bool) -> int | float:
    # `int` and `float` alone would also accept underscores, "nan" and "inf".
    if not re.fullmatch(r"[+-]?\d+" if whole else r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text):
        advice = "; write it with a point" if re.fullmatch(r"[+-]?\d+,\d+", text) and not whole else ""
        raise BadValue(f"{_quoted(text)} is not a {'whole ' if whole else ''}number{advice}")
    if abs(float(text)) > LARGEST:
        raise BadValue(f"{_quoted(text)} is too large")
    return int(text) if whole else float(text)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…")


def _refuse_controls(text: str) -> None:
    """Refuse control characters, which YAML or a database cannot store unchanged."""
    found = _CONTROL.search(text)
    if found:
        raise BadValue(
            f"holds a character that cannot be seen (U+{ord(found[0]):04X}); remove it or type the words anew"
        )


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number there")


def _json_float(text: str) -> float:
    value = float(text)
    if abs(value) > LARGEST:
        raise ValueError(f"{_quoted(text)} is too large")
    return value


def _scalar(text: str) -> str | int | bool:
    """Parse a number, a truth value or a word."""
    if text in ("true", "false"):
        return text == "true"
    # Numbers with leading zeros, such as ids, stay words.
    return int(text) if re.fullmatch(r"-?[1-9]\d{0,8}|0", text) else text


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in text.split("\n"):
        if line.strip():
            key, words = _pair(line)
            if key in pairs:
                raise BadValue(f"{_quoted(key)} stands there twice; keep one")
            pairs[key] = words
    return pairs


def _pair(line: str) -> tuple[str, str]:
    key, separator, value = line.partition(":")
    if not separator:
        raise BadValue(f"{_quoted(line)} has no colon; write name: words, one a line")
    return key.strip(), value.strip()


def _json(text: str) -> Any:
    try:
        # Python's parser accepts NaN and Infinity, which are not JSON and cannot be stored.
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_json_float)
    except (ValueError, RecursionError) as error:
        raise BadValue(f"{_quoted(text)} is not JSON ({error}); words go in double quotes") from error


@dataclass(frozen=True)
class _SchemaReader:
    definitions: Mapping[str, Any]

    def node(self, schema: Mapping[str, Any], path: Path, value: Any, *, is_required: bool) -> FormNode:
        resolved, is_nullable = self._resolve(schema)
        help_text = str(schema.get("description") or resolved.get("description") or "")
        node = FormNode(
            path,
            "data",
            _label(path),
            help=" ".join(help_text.split()),
            value=value,
            default=schema.get("default"),
            is_required=is_required and not is_nullable,
        )
        kind = resolved.get("type")
        if "enum" in resolved:
            node.kind, node.options = "select", [*([""] if is_nullable else []), *resolved["enum"]]
        elif "const" in resolved:
            node.kind, node.options = "select", [resolved["const"]]
        elif kind == "boolean":
            node.kind = "checkbox"
            # A box has no third state: an optional truth value without a default shows as a box that is not ticked.
            node.default = bool(node.default)
        elif kind in ("number", "integer"):
            node.kind = kind
        elif kind == "string":
            node.kind = self._string_kind(resolved, path)
            node.is_mixed = "mixed" in resolved
        elif kind == "array":
            self._array(node, resolved)
        elif "properties" in resolved:
            self._record(node, resolved, is_nullable=is_nullable)
        elif kind == "object" and resolved.get("additionalProperties") == {"type": "string"}:
            node.kind = "pairs"
        return node

    def _resolve(self, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
        """Follow references; return the schema, and whether it is optional (``X | None``)."""
        if "$ref" in schema:
            return self._resolve(self.definitions[schema["$ref"].rpartition("/")[2]])
        members = schema.get("anyOf")
        if members:
            others = [member for member in members if member != {"type": "null"}]
            if len(others) == 1:
                return self._resolve(others[0])[0], len(others) < len(members)
            if {"type": "string"} in others:  # a word, a number or a truth value
                return {"type": "string", "mixed": True}, len(others) < len(members)
        return schema, False

    def _string_kind(self, resolved: Mapping[str, Any], path: Path) -> NodeKind:
        if "#[0-9a-fA-F]{6}" in resolved.get("pattern", ""):
            return "color"
        return "long_text" if path[-1] in LONG_TEXTS else "text"

    def _array(self, node: FormNode, resolved: Mapping[str, Any]) -> None:
        entry = resolved["items"]
        inner, _ = self._resolve(entry)
        if "properties" not in inner and "oneOf" not in inner and inner.get("type") != "array":
            node.kind = "lines"
            node.is_mixed = "mixed" in inner
            return
        entries = node.value if isinstance(node.value, list) else []
        if set(inner.get("properties", ())) == {"key", "label"} and all(isinstance(entry, str) for entry in entries):
            node.kind = "lines"  # options whose keys come from their labels
            return
        node.kind = "list"
        node.is_list_of_lists = inner.get("type") == "array"
        variants = self._variants(inner)
        node.variants = {
            name: " ".join(str(self._resolve(member)[0].get("description", "")).split())
            for name, member in variants.items()
        }
        for position, value in enumerate(entries):
            tag = str(value.get("type", "")) if isinstance(value, dict) and "" not in variants else ""
            child = self.node(variants.get(tag, entry), (*node.path, position), value, is_required=True)
            child.variant = tag
            child.label = _entry_label(value, position)
            child.help = node.variants.get(tag, "")
            node.children.append(child)

    def _variants(self, inner: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        mapping = inner.get("discriminator", {}).get("mapping")
        if mapping:
            return {tag: {"$ref": reference} for tag, reference in mapping.items()}
        return {"": inner}

    def _record(self, node: FormNode, resolved: Mapping[str, Any], *, is_nullable: bool) -> None:
        node.kind = "record"
        node.is_optional_record = is_nullable
        if is_nullable and not node.is_stated:
            return
        content = node.value if isinstance(node.value, dict) else {}
        required = set(resolved.get("required", ()))
        for name, schema in sorted(resolved["properties"].items(), key=lambda field: _PLACES.get(field[0], 2)):
            if name == "type" and "const" in schema:
                continue  # the type of an entry is chosen when it is added
            if schema.get("readOnly") and name not in content:
                continue  # written by the program, not by people
            derived = name == "key"  # comes from the name unless stated
            node.children.append(
                self.node(
                    schema, (*node.path, name), content.get(name, ABSENT), is_required=name in required and not derived
                )
            )


def _label(path: Path) -> str:
    words = str(path[-1]).replace("_", " ")
    return words[:1].upper() + words[1:]


def _entry_label(value: Any, position: int) -> str:
    named = value if isinstance(value, dict) else {}
    name = next(
        (named[key] for key in ("name", "label", "quote", "path", "key") if isinstance(named.get(key), str)), ""
    )
    return f"{position + 1}. {name}" if name else f"{position + 1}."
