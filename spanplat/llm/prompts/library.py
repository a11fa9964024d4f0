"""Library of prompts: presets, their parts, and the qualities that ``gauge`` judges."""

import re
from functools import cache
from typing import Any, get_args

from spanplat import paths
from spanplat.errors import InvalidInput
from spanplat.schemas import yaml_documents
from spanplat.schemas.assignment import Aspect
from spanplat.schemas.prompt_settings import Preset

PROMPTS = paths.CAMPAIGNS / "prompts"
PRESETS: tuple[Preset, ...] = get_args(Preset)


@cache
def preset_source(name: Preset) -> str:
    """Return the template of a preset."""
    return (PROMPTS / f"{name}.jinja").read_text("utf-8")


def preset_summary(name: Preset) -> str:
    """Return a summary of a preset in one line. It is the comment at the beginning of its file."""
    found = re.match(r"{#-?\s*(.*?)\s*-?#}", preset_source(name), re.DOTALL)
    return " ".join(found[1].split()) if found else ""


@cache
def part_names() -> tuple[str, ...]:
    """Return the names of all parts."""
    return tuple(sorted(path.stem for path in (PROMPTS / "parts").glob("*.jinja")))


@cache
def part_source(name: str) -> str:
    """Return the template of a part.

    Raises
    ------
    InvalidInput
        If there is no such part.
    """
    if name not in part_names():
        raise InvalidInput(f"there is no prompt part {name!r} (parts: {', '.join(part_names())})")
    return (PROMPTS / "parts" / f"{name}.jinja").read_text("utf-8")


@cache
def aspect_library() -> dict[str, dict[str, Any]]:
    """Return the qualities of the library, by ``kind of text/quality``."""
    content = yaml_documents.load((PROMPTS / "aspects.yaml").read_text("utf-8"))
    return {
        f"{kind}/{key}": {"task": group["task"], "output": group["output"], "key": key, **aspect}
        for kind, group in content.items()
        for key, aspect in group["aspects"].items()
    }


def complete_aspect(aspect: Aspect) -> Aspect:
    """Fill the empty fields of a definition's aspect from the library entry that it names.

    Raises
    ------
    InvalidInput
        If there is no such entry, or the aspect has no description.
    """
    content = aspect.model_dump()
    if aspect.library is not None:
        entry = aspect_library().get(aspect.library)
        if entry is None:
            raise InvalidInput(
                f"aspect {aspect.key!r}: the library has no {aspect.library!r} (it has: {', '.join(aspect_library())})"
            )
        content |= {name: value for name, value in entry.items() if not content.get(name)}
    if not content["description"]:
        raise InvalidInput(
            f"aspect {aspect.key!r} has no description; write one, or name an entry of the library "
            "(library: summarisation/faithfulness)"
        )
    return Aspect.model_validate(content)
