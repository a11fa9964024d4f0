"""Messages at the fields of a draft's step, and the values that a published protocol fills in."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import gettext as _
from flask_babel import ngettext

from spanplat.errors import InvalidInput
from spanplat.formats.yaml_editing import YamlText
from spanplat.schemas.definition_file import DefinitionProblem
from spanplat.schemas.form import FormNode
from spanplat.schemas.protocols import FILLED, PROTOCOLS, protocol_settings
from spanplat.schemas.providers import find_provider
from spanplat.services.campaigns.draft_forms import StepForm
from spanplat.web.definition_names import place_name, value_name

FILLABLE = frozenset({f"model.{name}" for name in FILLED} | {"model.reasoning.effort", "model.reasoning.budget"})
"""Fields that a protocol may fill."""


@dataclass(frozen=True)
class Mistake:
    """Mistake in a step."""

    field: str
    """Name of the control, list or record that shows the message; empty if the step has none."""
    path: Sequence[str | int]
    message: str
    line: int | None = None
    """Line in the text of the definition."""


def mistakes_of(form: StepForm | None, problems: Iterable[DefinitionProblem]) -> list[Mistake]:
    """Return the problems in the order of the definition, each with the nearest field of the step."""
    known = {node.name for node in _all(form.nodes)} if form else set()
    return [
        Mistake(_field_of(problem.path, known), problem.path, problem.message, problem.line) for problem in problems
    ]


def messages_at(form: StepForm | None, mistakes: Iterable[Mistake]) -> dict[str, list[str]]:
    """Return the messages by field.

    A field whose typed value could not be saved shows only that: the other messages are about the older value in the text.
    """
    said: dict[str, list[str]] = {name: [problem] for name, problem in (form.bad if form else {}).items()}
    for mistake in mistakes:
        if mistake.field and mistake.field not in (form.bad if form else {}):
            said.setdefault(mistake.field, []).append(mistake.message)
    return said


def summary_of(form: StepForm | None, mistakes: Sequence[Mistake]) -> str:
    """Return the state of the step in one line, for users who cannot see the panel beside it."""
    for name, problem in (form.bad if form else {}).items():
        path = tuple(int(part) if part.isdecimal() else part for part in name.split("."))
        return str(_("Not saved: %(place)s: %(problem)s", place=place_name(path), problem=problem))
    if not mistakes:
        return str(_("Nothing to mend here."))
    first, number = mistakes[0], len(mistakes)
    counted = ngettext("%(number)s thing to mend", "%(number)s things to mend", number, number=number)
    place = f"{place_name(first.path)}: " if first.path else ""
    return f"{counted}: {place}{first.message}"


def inherited(text: str, step: str) -> dict[str, str]:
    """Return the values that the draft's protocol fills in, by control. Values that the draft states itself are left out."""
    model = _model_of(text) if step == "model" else {}
    protocol = model.get("protocol")
    provider = find_provider(str(model.get("provider", "")))
    if protocol not in PROTOCOLS or (provider is not None and provider.is_offline):
        return {}
    settings = protocol_settings(protocol, provider.name if provider else "", str(model.get("interface", "chat")))
    filled: dict[str, str] = {}
    for name, value in settings.items():
        stated = model.get(name)
        if name == "reasoning":
            inner = {part: one for part, one in value.items() if not isinstance(stated, dict) or part not in stated}
            filled |= {f"model.reasoning.{part}": _shown(("reasoning", part), one) for part, one in inner.items()}
            if stated is None:
                parts = [f"{part} {_shown(('reasoning', part), one)}" for part, one in value.items()]
                filled["model.reasoning"] = ", ".join(parts)
        elif stated is None:
            filled[f"model.{name}"] = _shown((name,), value)
    return filled


def _model_of(text: str) -> Mapping[str, Any]:
    try:
        model = YamlText(text).content.get("model")
    except InvalidInput:
        return {}
    return model if isinstance(model, dict) else {}


def _shown(path: Sequence[str], value: Any) -> str:
    if isinstance(value, bool):
        return str(_("yes") if value else _("no"))
    return value_name(path, value) if isinstance(value, str) else json.dumps(value)


def _all(nodes: Iterable[FormNode]) -> Iterator[FormNode]:
    for node in nodes:
        yield node
        yield from _all(node.children)


def _field_of(path: Sequence[str | int], known: set[str]) -> str:
    """Return the name of the field at a path, or of the nearest list or record around it."""
    for length in range(len(path), 0, -1):
        name = ".".join(str(part) for part in path[:length])
        if name in known:
            return name
    return ""
