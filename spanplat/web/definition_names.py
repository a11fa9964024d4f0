"""Names of the fields and values of a campaign definition on the pages. The file itself uses its own words."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _

from spanplat.schemas.checks import CHECK_KINDS
from spanplat.schemas.providers import PROVIDERS
from spanplat.schemas.questions import QUESTION_KINDS
from spanplat.web.names import CHECK_NAMES, CONSEQUENCES, KINDS, SERVICES

TYPES: Mapping[str, Mapping[str, Any]] = {
    "checks": CHECK_NAMES,
    "questions": {kind.kind(): kind.kind_title for kind in QUESTION_KINDS},
    "attributes": {"text": _("line of text"), "choice": _("one of several"), "checkbox": _("box to tick")},
}
"""Names of the kinds of list entries, by the name of the list."""

_SOURCES = {
    "auto": _("guessed from the data"),
    "text": _("Plain text"),
    "markdown": _("Markdown"),
    "tree": _("Nested data"),
    "table": _("Table"),
    "dialogue": _("Dialogue"),
    "triples": _("Triples"),
    "translation": _("Text to translate"),
    "series": _("Time series"),
    "image": _("Image"),
    "html": _("HTML"),
}

VALUES: Mapping[str, Mapping[str, Any]] = {
    "kind": KINDS,
    "item.kind": {
        "output": _("One text"),
        "pair": _("Two texts side by side"),
        "aspect": _("One text, one aspect at a time"),
        "span": _("One span that somebody marked"),
    },
    "source.kind": _SOURCES,
    "fields.kind": _SOURCES,
    "source.others": {"show": _("shown"), "hide": _("hidden")},
    "categories.side": {"output": _("In the text"), "source": _("In the source"), "both": _("In either")},
    "spans.granularity": {
        "character": _("Single characters"),
        "word": _("Whole words"),
        "sentence": _("Whole sentences"),
    },
    "spans.overlap": {"allow": _("allowed"), "forbid": _("not allowed")},
    "spans.reason": {"off": _("not asked for"), "optional": _("may be given"), "required": _("must be given")},
    "spans.suggestions": {"optional": _("may be left as they are"), "required": _("must each be decided")},
    "on_fail": CONSEQUENCES,
    "checks.requires": {"category": _("a span of the expected category"), "region": _("any span in that place")},
    "batches.sampling": {
        "partition": _("Every item in one batch"),
        "sample": _("Each batch drawn at random"),
    },
    "batches.positions": {
        "random": _("anywhere"),
        "spread": _("evenly apart"),
        "fixed": _("always in the same places"),
    },
    "annotators.withdrawn": {"leave_out": _("kept, but in no figure"), "delete": _("deleted at once")},
    "annotators.when_full": {
        "page": _("A page says that the study is full"),
        "redundancy": _("Paid, as a further annotator of a batch"),
    },
    "platform.service": SERVICES,
    "model.provider": {provider.name: provider.title for provider in PROVIDERS},
    "model.interface": {"chat": _("Chat completions"), "responses": _("Responses")},
    "model.reply_format": {
        "schema": _("by JSON Schema"),
        "tool": _("by a tool"),
        "json": _("as any JSON"),
        "text": _("in words only"),
    },
    "model.protocol": {
        "three-seeds": _("Three seeds"),
        "three-seeds-short": _("Three seeds, short replies"),
        "reasoning": _("Reasoning"),
    },
    "reasoning.effort": {
        "none": _("none"),
        "low": _("low"),
        "medium": _("medium"),
        "high": _("high"),
        "xhigh": _("very high"),
        "max": _("the most there is"),
    },
    "reasoning.budget_for": {
        "auto": _("guessed from the address"),
        "words": _("no server: none is sent"),
        "openrouter": "OpenRouter",
        "dashscope": "DashScope",
        "vllm": "vLLM",
        "gemini": "Gemini",
    },
    "model.mode": {"direct": _("one question at a time"), "batch": _("all at once, at half the price")},
    "model.preset": {
        "base": _("Plain"),
        "noguide": _("Without guidelines"),
        "noreason": _("Without reasons"),
        "cot": _("Thinking step by step"),
        "lenient": _("Lenient"),
        "fewshot": _("With worked examples"),
        "mqm": _("Translation errors (MQM)"),
        "gauge": _("Errors and a judgement of the whole"),
        "verbatim": _("Word for word what people are told"),
        "pairwise": _("Which of two is better"),
        "consolidate": _("Settle what several annotators marked"),
    },
    "model.reply": {
        "spans": _("spans"),
        "gauge": _("errors and a judgement"),
        "ratings": _("answers to the questions"),
        "choice": _("which of two is better"),
        "errors": _("errors with severities"),
    },
    "model.instructions": {
        "full": _("all that people saw"),
        "definitions": _("the criteria with their definitions"),
        "minimal": _("the criteria alone"),
    },
    "model.placement": {"in_order": _("each to its own occurrence"), "first": _("always to the first occurrence")},
    "gauge.score": {"labels": _("by a label"), "integer": _("by a whole number")},
    "gauge.severities": {"numbers": _("1 to 5"), "words": _("Neutral, Minor, Major, Critical")},
}
"""Names of values, by the last one or two parts of the path in the definition."""

PLACES: Mapping[str, Any] = {
    "slug": _("Short name"),
    "min_characters": _("Least characters"),
    "max_characters": _("Most characters"),
    "on_fail": _("When failed"),
    "per_output": _("Annotators per output"),
    "golds": _("Acceptable annotations"),
    "llm": _("Model"),
}
"""Names of fields whose own words are not clear enough."""


_VALUES_BY_WORD = {
    word: name
    for word, name in {word: name for names in VALUES.values() for word, name in names.items()}.items()
    if all(names.get(word, name) == name for names in VALUES.values())
}
"""Names of values that have the same name in all fields."""


def value_name(path: Sequence[str | int], value: str) -> str:
    """Return the name of a field's value; a dash for an empty value, and the value itself if it has no name."""
    if value == "":
        return "–"
    named = [part for part in path if isinstance(part, str)]
    names = VALUES.get(".".join(named[-2:])) or VALUES.get(named[-1], {})
    return str(names.get(value, value))


def type_name(path: Sequence[str | int], kind: str) -> str:
    """Return the name of the kind of an entry in the list at a path."""
    named = [part for part in path if isinstance(part, str)]
    return str(TYPES.get(named[-1], {}).get(kind, kind.replace("_", " ")))


def field_name(part: str) -> str:
    """Return the name of a field of the definition."""
    words = part.replace("_", " ")
    return str(PLACES.get(part, words[:1].upper() + words[1:]))


def place_name(path: Sequence[str | int]) -> str:
    """Return the name of a place in the definition, as the forms show it.

    >>> place_name(("questions", 0, "label"))
    'Questions 1 › Label'
    """
    names: list[str] = []
    for part in path:
        if isinstance(part, int) and names:
            names[-1] += f" {part + 1}"
        else:
            names.append(field_name(str(part)))
    return " › ".join(names)


def help_text(path: Sequence[str | int], text: str) -> str:
    """Replace the file's words in a help text with their names on the page.

    >>> help_text(("checks", 0, "message"), "What is read when ``on_fail`` is ``warn``.")
    'What is read when “When failed” is “warned”.'
    """

    def named(found: re.Match[str]) -> str:
        word = found[1]
        name = value_name(path, word)
        if name == word:
            known = str(PLACES.get(word) or _VALUES_BY_WORD.get(word) or word)
            # A field without a name of its own appears as the forms write it, without underscores.
            name = known.replace("_", " ") if re.fullmatch("[a-z_]+", known) else known
        return f"“{name}”"

    return re.sub(r"``([^`]+)``", named, text)


def path_of(dotted: str) -> tuple[str | int, ...]:
    """Return the path of a place that is written with dots."""
    return tuple(int(part) if part.isdecimal() else part for part in dotted.split(".") if part)


def init_app(app: Flask) -> None:
    """Give the names to the templates."""
    app.jinja_env.globals.update(
        value_name=value_name,
        type_name=type_name,
        field_name=field_name,
        place_name=place_name,
        path_of=path_of,
        help_text=help_text,
        checks_expecting_spans=[kind.kind() for kind in CHECK_KINDS if kind.expects_spans],
    )
