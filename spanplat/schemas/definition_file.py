"""Parser of campaign definitions in YAML, with errors that name the line and the path of each mistake."""

from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from spanplat.errors import InvalidInput
from spanplat.schemas import yaml_documents
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.slug import SLUG_PATTERN, slugify
from spanplat.schemas.yaml_documents import (
    DEEPEST,
    MappingNode,
    MarkedYAMLError,
    MaxDepthExceededError,
    Node,
    SequenceNode,
    YAMLError,
)

PathInFile = tuple[str | int, ...]
Shape = TypeVar("Shape", bound=BaseModel)

MOST_VALUES = 200_000
LONGEST = 2_000_000
"""Characters of a file; a parser needs about ten seconds for this many."""


@dataclass(frozen=True)
class DefinitionSource:
    """A parsed file with the line number of each value."""

    name: str
    """Name of the file in messages."""
    value: Any
    lines: dict[PathInFile, int]
    """Line of each path, counted from 1."""

    def line_of(self, path: PathInFile) -> int | None:
        """Return the line of ``path``, or of its nearest ancestor in the file."""
        for length in range(len(path), -1, -1):
            if line := self.lines.get(path[:length]):
                return line
        return None

    def message(self, path: PathInFile, problem: str) -> str:
        """Put file, line and path before a problem."""
        line = self.line_of(path)
        place = f"{self.name}:{line}" if line else self.name
        dotted = ".".join(str(part) for part in path)
        return f"{place}: {dotted}: {problem}" if dotted else f"{place}: {problem}"


@dataclass(frozen=True)
class DefinitionProblem:
    """A mistake in a definition."""

    path: PathInFile
    message: str
    line: int | None = None


def parse_yaml(text: str, *, name: str = "definition") -> DefinitionSource:
    """Parse YAML text and keep the line number of every value.

    Raises
    ------
    InvalidInput
        If the text is not YAML, or a mapping has a key twice.
    """
    if len(text) > LONGEST:
        raise InvalidInput(f"{name}: has {len(text):,} characters; at most {LONGEST:,} are accepted")
    try:
        node, construct = yaml_documents.compose(text)
        if node is None:
            raise InvalidInput(f"{name}: the file is empty; a campaign definition needs at least slug, title and data")
        lines: dict[PathInFile, int] = {}
        # Counts aliases each time they are used: a few lines may stand for billions of values, which JSON would write out.
        _walk(node, (), lines, name)
        return DefinitionSource(name, construct(node), lines)
    except MaxDepthExceededError as error:
        raise InvalidInput(_too_deep(name, error.problem_mark.line)) from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        raise InvalidInput(f"{name}:{line}: not valid YAML: {error.problem}") from error
    except YAMLError as error:
        raise InvalidInput(f"{name}: not valid YAML: {error}") from error


def _too_deep(name: str, line: int) -> str:
    return f"{name}:{line + 1}: lists and mappings are nested more than {DEEPEST} deep"


def _walk(node: Node, path: PathInFile, lines: dict[PathInFile, int], name: str) -> None:
    if len(path) > DEEPEST:
        raise InvalidInput(_too_deep(name, node.start_mark.line))
    if len(lines) > MOST_VALUES:
        raise InvalidInput(f"{name}: holds more than {MOST_VALUES:,} values (aliases count each time they are used)")
    lines[path] = node.start_mark.line + 1
    if isinstance(node, SequenceNode):
        for position, child in enumerate(node.value):
            _walk(child, (*path, position), lines, name)
    elif isinstance(node, MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            if not isinstance(key.value, str):
                raise InvalidInput(f"{name}:{key.start_mark.line + 1}: a key must be a word, not a list or mapping")
            if key.value in seen:
                raise InvalidInput(
                    f"{name}:{key.start_mark.line + 1}: the key {key.value!r} stands here a second time; remove one"
                )
            seen.add(key.value)
            _walk(child, (*path, key.value), lines, name)
            lines[*path, key.value] = key.start_mark.line + 1  # the line of the key: its value may begin below


def validate_definition(source: DefinitionSource) -> CampaignDefinition:
    """Validate a parsed file as a campaign definition.

    Raises
    ------
    InvalidInput
        With one line per problem: file, line, path, what is wrong and what is expected.
    """
    return validate_as(source, CampaignDefinition)


def validate_as(source: DefinitionSource, shape: type[Shape]) -> Shape:
    """Validate a parsed file as a definition of a given type.

    Raises
    ------
    InvalidInput
        With one line per problem: file, line, path, what is wrong and what is expected.
    """
    if not isinstance(source.value, dict):
        raise InvalidInput(
            f"{source.name}: a definition is a mapping (slug: …, title: …), not a {type(source.value).__name__}"
        )
    try:
        return shape.model_validate(source.value)
    except ValidationError as error:
        problems = (_explain(source, problem) for problem in error.errors())
        raise InvalidInput("\n".join(source.message(entry.path, entry.message) for entry in problems)) from error


def find_problems(source: DefinitionSource) -> list[DefinitionProblem]:
    """Return the mistakes in a parsed file; an empty list if it is a valid definition."""
    try:
        CampaignDefinition.model_validate(source.value)
    except ValidationError as error:
        return [_explain(source, problem) for problem in error.errors()]
    return []


def define(content: dict[str, Any], name: str) -> CampaignDefinition:
    """Validate a definition that a program has built; messages call it ``name``.

    Raises
    ------
    InvalidInput
        With one line per problem.
    """
    return validate_definition(DefinitionSource(name, content, {}))


def read_definition(text: str, *, name: str = "definition") -> CampaignDefinition:
    """Parse and validate a campaign definition; see `parse_yaml` and `validate_definition`."""
    return validate_definition(parse_yaml(text, name=name))


def _explain(source: DefinitionSource, problem: Any) -> DefinitionProblem:
    path = _path_in_file(source, tuple(problem["loc"]))
    match problem["type"]:
        case "extra_forbidden":
            message = f"unknown key {path[-1]!r}; remove it or correct its spelling"
        case "missing":
            message = "is missing; add it"
        case "string_pattern_mismatch" if problem["ctx"]["pattern"] == SLUG_PATTERN:
            example = slugify(problem["input"])
            message = f"{problem['input']!r} must be lower-case letters, digits and single hyphens, such as {example!r}"
        case "string_pattern_mismatch":
            message = f"{problem['input']!r} does not have the form {problem['ctx']['pattern']}"
        case "string_type":
            message = f"{problem['input']!r} is not text; put it in quotes"
        case "union_tag_not_found":
            message = "type is missing; it says which kind this is"
        case "union_tag_invalid":
            # pydantic reports the whole value, but the mistake is in its type.
            path = (*path, "type")
            message = f"{problem['ctx']['tag']!r} is none of {problem['ctx']['expected_tags']}"
        case _:
            message = str(problem["msg"]).removeprefix("Value error, ")
    return DefinitionProblem(path, message, source.line_of(path))


def _path_in_file(source: DefinitionSource, path: PathInFile) -> PathInFile:
    """Return a path as it is in the file; pydantic inserts the tag of a union's member (questions, 0, slider, maximum)."""
    if not source.lines:  # built by a program, not written in a file
        return path
    known: PathInFile = ()
    value = source.value
    for position, part in enumerate(path):
        is_tag = isinstance(value, dict) and value.get("type") == part and (*known, part) not in source.lines
        # The last part stays even if the file does not have it: it names the key that is missing.
        if not is_tag and ((*known, part) in source.lines or position == len(path) - 1):
            value = value[part] if (*known, part) in source.lines else None
            known = (*known, part)
    return known
