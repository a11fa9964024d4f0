"""Forms for the steps of a draft: form values are written into the YAML text, and rows are added, moved and removed in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.formats.yaml_editing import YamlText
from spanplat.schemas.categories import PALETTES
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.form import ABSENT, BadValue, FormNode, Path, form_of, value_of
from spanplat.services.campaigns.validation import STEPS


@dataclass
class StepForm:
    """Form of one step."""

    nodes: list[FormNode]
    bad: dict[str, str] = field(default_factory=dict)
    """Error messages of invalid values by control; the text keeps the old value there."""
    typed: dict[str, str] = field(default_factory=dict)
    """Invalid values as typed, by control."""
    place: str = ""
    """Id of the element that gets the focus after a row was added, moved or removed."""

    @property
    def first_place(self) -> str:
        """Id of the first element that can have the focus."""
        return _first_place(self.nodes[0])


def step_form(text: str, step: str) -> StepForm:
    """Return one step of a text as a form.

    Raises
    ------
    InvalidInput
        If the text is not YAML; it can then be corrected only as text.
    """
    return StepForm(form_of(CampaignDefinition, STEPS[step], YamlText(text).content))


def fill_in(text: str, step: str, typed: Mapping[str, str], act: str = "") -> tuple[str, StepForm]:
    """Write the values of a filled-in step into a text.

    Parameters
    ----------
    text
        The draft's text.
    step
        Name of the step.
    typed
        Values by name of the control; boxes that are not ticked are missing.
    act
        Further action: ``add:<list>``, ``add:<list>:<type>``, ``add:<record>``, ``remove:<entry or record>``, ``up:<entry>``,
        ``down:<entry>``, ``colour:categories:<palette>``. It is skipped while a value is invalid, because the row of that value might
        be removed or get another number.

    Returns
    -------
    str
        The changed text.
    StepForm
        The new form of the step, with the invalid values.

    Raises
    ------
    InvalidInput
        If the text is not YAML, or the action or its field does not exist.
    """
    yaml_text = YamlText(text)
    bad: dict[str, str] = {}
    for node in form_of(CampaignDefinition, STEPS[step], yaml_text.content):
        for leaf in node.leaves():
            _take_over(yaml_text, leaf, typed, bad)
    if act and not bad:
        _perform(yaml_text, step, act)
    changed = yaml_text.dump()
    form = step_form(changed, step)
    form.bad, form.typed = bad, {name: typed.get(name, "") for name in bad}
    form.place = _place_after(form.nodes, act) if act and not bad else ""
    return changed, form


def has_same_rows(text: str, step: str, typed: Mapping[str, str]) -> bool:
    """Return whether a filled-in step has the same controls as the step of a text, so that its values fit the text."""
    # Checkboxes are left out of the comparison: a browser does not send a box that is not ticked.
    there = {leaf.name for node in step_form(text, step).nodes for leaf in node.leaves() if leaf.kind != "checkbox"}
    sent = {name for name in typed if name.partition(".")[0] in STEPS[step]}
    boxes = {leaf.name for node in step_form(text, step).nodes for leaf in node.leaves() if leaf.kind == "checkbox"}
    return sent - boxes == there


def _take_over(yaml_text: YamlText, leaf: FormNode, typed: Mapping[str, str], bad: dict[str, str]) -> None:
    # The page was loaded before the text had this field. A missing checkbox is different: it was not ticked.
    if leaf.kind != "checkbox" and leaf.name not in typed:
        return
    try:
        value = value_of(leaf, typed.get(leaf.name))
    except BadValue as error:
        bad[leaf.name] = str(error)
        return
    if value is ABSENT:
        yaml_text.remove(leaf.path)
    else:
        yaml_text.set(leaf.path, value)


def _perform(yaml_text: YamlText, step: str, act: str) -> None:
    verb, _colon, rest = act.partition(":")
    name, _colon, variant = rest.partition(":")
    path = _path(name)
    # The action comes from the browser, so it can name any field.
    if path[0] not in STEPS[step]:
        raise InvalidInput(f"the step {step!r} has no field {name!r}")
    match verb:
        case "add":
            node = _node_at(form_of(CampaignDefinition, STEPS[step], yaml_text.content), path)
            if node.kind == "list":
                yaml_text.append(path, _new_entry(node, variant))
            else:
                yaml_text.set(path, {})
        case "remove":
            yaml_text.remove(path)
        case "up" | "down":
            yaml_text.move(path, -1 if verb == "up" else 1)
        case "colour":
            _colour(yaml_text, variant)
        case _:
            raise InvalidInput(f"a form has no action {verb!r}")


def _colour(yaml_text: YamlText, palette: str) -> None:
    """Give every category a colour of a palette."""
    colors = PALETTES.get(palette)
    if colors is None:
        raise InvalidInput(f"there is no palette {palette!r} (palettes: {', '.join(PALETTES)})")
    for position, entry in enumerate(yaml_text.content.get("categories") or ()):
        if isinstance(entry, dict):
            yaml_text.set(("categories", position, "color"), colors[position % len(colors)])


def _new_entry(node: FormNode, variant: str) -> Any:
    if variant not in node.variants:
        raise InvalidInput(f"{node.name} has no entries of the type {variant!r}")
    if not node.is_list_of_lists:
        return {"type": variant} if variant else {}
    return []


def _node_at(nodes: Sequence[FormNode], path: Path) -> FormNode:
    for node in nodes:
        if node.path == path:
            return node
        if path[: len(node.path)] == node.path:
            return _node_at(node.children, path)
    raise InvalidInput(f"there is no field {'.'.join(map(str, path))!r} any more; reload the page")


def _path(name: str) -> Path:
    return tuple(int(part) if part.isdecimal() else part for part in name.split("."))


def _place_after(nodes: Sequence[FormNode], act: str) -> str:
    """Return the id of the element that gets the focus: the new row, the moved row, or the row after a removed one."""
    verb, _colon, rest = act.partition(":")
    path = _path(rest.partition(":")[0])
    if verb == "colour":
        return f"a-{act}"
    if verb == "add":
        node = _node_at(nodes, path)
        return _first_place(node.children[-1] if node.kind == "list" else node)
    last, around = path[-1], _nearest(nodes, path[:-1])
    if not isinstance(last, int) or around is None or around.path != path[:-1]:
        gone = _nearest(nodes, path)
        return _first_place(gone) if gone else ""
    if not around.children:
        return _adder(around)
    if verb == "remove":
        return f"a-remove:{around.name}.{min(last, len(around.children) - 1)}"
    position = last + (-1 if verb == "up" else 1)
    # The first row has no button to go up and the last none to go down; the focus then goes to the other button.
    stays = "down" if position == 0 else "up" if position == len(around.children) - 1 else verb
    return f"a-{stays}:{around.name}.{position}"


def _first_place(node: FormNode) -> str:
    if node.kind == "list":
        return _first_place(node.children[0]) if node.children else _adder(node)
    if node.kind == "record":
        return _first_place(node.children[0]) if node.children else f"a-add:{node.name}"
    return f"f-{node.name}"


def _adder(node: FormNode) -> str:
    variant = next(iter(node.variants), "")
    return f"a-add:{node.name}:{variant}" if variant else f"a-add:{node.name}"


def _nearest(nodes: Sequence[FormNode], path: Path) -> FormNode | None:
    """Return the node at a path, or the deepest existing node on the way to it."""
    found = next((node for node in nodes if node.path == path[: len(node.path)] and node.path), None)
    return found and (_nearest(found.children, path) or found)
