"""Reader and writer of YAML 1.2 documents.

In YAML 1.2 ``yes``, ``no``, ``on`` and ``off`` are words and ``12:30`` is text. Definitions need that, because these are answers.
"""

import io
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.representer import SafeRepresenter

__all__ = [
    "DEEPEST",
    "MappingNode",
    "MarkedYAMLError",
    "MaxDepthExceededError",
    "Node",
    "SequenceNode",
    "YAMLError",
    "compose",
    "dump",
    "limit_depth",
    "load",
]

DEEPEST = 50
"""Maximum depth of nested lists and mappings."""
_NEVER_FOLDED = 100_000
"""Width of a line. A folded line ends with a space in this library, and its parts are hard to edit."""
_OTHER_IN_YAML_1_1 = re.compile(r"(?i:y|n|yes|no|on|off)|[-+]?[0-9]+(:[0-5]?[0-9])+")
"""Text that programs with YAML 1.1, such as PyYAML, would read as a truth value or a number."""
_NEEDS_ESCAPES = re.compile("[^\\n\\t -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Control characters and line separators. A block would lose them, or end a line at them."""


def load(text: str, *, version: tuple[int, int] | None = None) -> Any:
    """Read the values of a document; lists, dictionaries, text, numbers, dates.

    Parameters
    ----------
    text
        One document.
    version
        Version of YAML to read it as: (1, 1) for files of programs that write it. Left out, YAML 1.2.

    Raises
    ------
    YAMLError
        If it is not YAML.
    """
    reader = _safe()
    reader.version = version
    return reader.load(text)


def compose(text: str) -> tuple[Node | None, Any]:
    """Read a document as nodes, which know their lines, and return with them a function that makes values of them.

    Raises
    ------
    YAMLError
        If it is not YAML.
    """
    reader = _safe()
    return reader.compose(text), reader.constructor.construct_document


def dump(value: Any) -> str:
    """Write a document. Text of several lines is written as a block, so that it can be read and edited."""
    writer = _safe()
    writer.Representer = _Representer
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.width = _NEVER_FOLDED
    # By default the library sorts keys, but the order of a definition is meant for people.
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    writer.dump(value, out)
    return out.getvalue()


def limit_depth(reader: YAML) -> None:
    """Let a reader raise `MaxDepthExceededError` as soon as it meets a value that is nested more than `DEEPEST` deep.

    The parser is recursive, and it needs seconds for a line of a thousand brackets before Python's own limit ends it.
    """
    reader.max_depth = DEEPEST + 1  # the document itself is the first level


def _safe() -> YAML:
    # The parser in C would be another one than the editor of definitions has, with other messages.
    reader = YAML(typ="safe", pure=True)
    limit_depth(reader)
    return reader


class _Representer(SafeRepresenter):
    def represent_text(self, text: str) -> ScalarNode:
        style: str | None
        if _NEEDS_ESCAPES.search(text):
            style = '"'
        elif "\n" in text:
            style = "|"
        else:
            style = "'" if _OTHER_IN_YAML_1_1.fullmatch(text) else None
        node: ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", text, style=style)
        return node


_Representer.add_representer(str, _Representer.represent_text)
