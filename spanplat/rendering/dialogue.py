"""Renderer of dialogues."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from spanplat.rendering.context import Record, RenderingContext, is_record, is_scalar, written
from spanplat.rendering.markup import element
from spanplat.rendering.text import scalar

_SPEAKERS = ("speaker", "role", "from", "author", "user", "sender", "participant", "agent", "character", "name")
_TEXTS = ("text", "content", "utterance", "message", "value", "body", "turn", "transcript", "line", "dialogue")
_LINE = re.compile(r"^\s*([^:\n]{1,40}):[ \t]+(\S.*)$")


@dataclass(frozen=True)
class DialogueTurn:
    """One turn of a dialogue."""

    speaker: str
    text: str
    more: Record = field(default_factory=dict)
    """Other fields of the turn, such as a time or a dialogue act."""


def render_dialogue(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render the turns of a dialogue; return None if the value is no dialogue."""
    turns = _turns(value, asked=asked)
    # A single record with such fields may be anything.
    if not turns or (len(turns) < 2 and not asked):
        return None
    # Speakers alternate between the two sides in the order of their first turn.
    sides = {speaker: position % 2 for position, speaker in enumerate(dict.fromkeys(turn.speaker for turn in turns))}
    return element("ol", *(_turn(turn, sides[turn.speaker], context) for turn in turns), class_="dialogue")


def _turn(turn: DialogueTurn, side: int, context: RenderingContext) -> Markup:
    language = context.settings.language or None
    more = [
        element("span", context.label(name), " ", scalar(value, context), class_="more")
        if is_scalar(value)
        else element("div", context.label(name), context.inner(value, name), class_="more")
        for name, value in turn.more.items()
    ]
    return element(
        "li",
        element("b", turn.speaker, class_="speaker"),
        element("p", turn.text, dir="auto", lang=language),
        *more,
        class_=f"turn side-{side}",
    )


def _turns(value: Any, *, asked: bool) -> list[DialogueTurn]:
    # Plain lines and pairs are too common to be taken for a dialogue, unless the settings say so.
    if isinstance(value, str) and asked:
        return _turns_of_lines(value.splitlines())
    if not isinstance(value, list) or not value:
        return []
    if asked and all(isinstance(line, str) for line in value):
        return _turns_of_lines(value)
    if asked and all(isinstance(pair, list) and len(pair) == 2 and all(map(is_scalar, pair)) for pair in value):
        return [DialogueTurn(written(speaker), written(text)) for speaker, text in value]
    if not all(is_record(entry) for entry in value):
        return []
    turns = [_turn_of(entry) for entry in value]
    return [turn for turn in turns if turn is not None] if None not in turns else []


def _turn_of(record: Record) -> DialogueTurn | None:
    names = {name.casefold(): name for name in record}
    speaker = next((names[name] for name in _SPEAKERS if name in names), None)
    text = next((names[name] for name in _TEXTS if name in names), None)
    if speaker is None or text is None or speaker == text or not _is_speaker(record[speaker]):
        return None
    if speaker.casefold() == "name" and text.casefold() == "value":
        return None  # a property and its value
    said = _said(record[text])
    if said is None:
        return None
    more = {name: value for name, value in record.items() if name not in (speaker, text)}
    return DialogueTurn(written(record[speaker]), said, more)


def _is_speaker(value: Any) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 60) or (isinstance(value, int) and not isinstance(value, bool))


def _said(content: Any) -> str | None:
    """Return the text of a turn; chat formats may split it into parts of type ``text``."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(_is_text_part(part) for part in content):
        return "\n".join(part["text"] for part in content)
    return None


def _is_text_part(part: Any) -> bool:
    return (
        is_record(part) and set(part) == {"type", "text"} and part["type"] == "text" and isinstance(part["text"], str)
    )


def _turns_of_lines(lines: Sequence[str]) -> list[DialogueTurn]:
    """Parse lines of ``speaker: text``; a line without a speaker continues the last turn."""
    turns: list[DialogueTurn] = []
    for line in lines:
        if match := _LINE.match(line):
            turns.append(DialogueTurn(match[1].strip(), match[2]))
        elif not line.strip():
            continue
        elif turns:
            turns[-1] = DialogueTurn(turns[-1].speaker, f"{turns[-1].text}\n{line}")
        else:
            turns.append(DialogueTurn("", line))
    return turns
