"""The form of a reply in JSON, as the prompt tells it and as a JSON Schema; the reason comes before the passage."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.llm.replies.answers import asked_questions
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import PromptSettings
from spanplat.schemas.questions import (
    AnyQuestion,
    CheckboxQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    LikertQuestion,
    SliderQuestion,
)

Schema = dict[str, Any]

_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}


def asks_reason(settings: PromptSettings) -> bool:
    """Tell whether each span comes with a reason."""
    return settings.preset != "noreason"


def asks_context(settings: PromptSettings) -> bool:
    """Tell whether each passage is given a second time with what stands around it."""
    return settings.preset == "mqm"


def asks_side(definition: CampaignDefinition) -> bool:
    """Tell whether each span says where it stands, because a category may stand on both sides."""
    return any(category.side == "both" for category in definition.categories)


def thinks_aloud(settings: PromptSettings) -> bool:
    """Tell whether the model writes down what it thinks before it answers, so that its reply is not JSON alone."""
    return settings.preset == "cot" or (settings.preset == "mqm" and settings.visible_reasoning)


def reply_schema(definition: CampaignDefinition) -> Schema | None:
    """Return the JSON Schema of a campaign's replies; None where they are lines of text, or thoughts come first.

    Every property is required and no other allowed, which is what providers ask of a schema they enforce.
    """
    settings = definition.model or PromptSettings()
    if settings.reply_form != "spans" or thinks_aloud(settings):
        return None
    properties: Schema = {"annotations": {"type": "array", "items": _object(_span(definition, settings))}}
    questions = asked_questions(definition.questions)
    if questions:
        properties["answers"] = _object({question.key: _answer(question) for question in questions})
    return _object(properties)


def reply_form(definition: CampaignDefinition, *, blank: bool = False) -> str:
    """Return a reply with dots for its values; ``blank`` gives one that marks nothing."""
    settings = definition.model or PromptSettings()
    span = dict.fromkeys(_span(definition, settings), "…")
    reply: dict[str, Any] = {"annotations": [] if blank else [span]}
    questions = asked_questions(definition.questions)
    if questions:
        reply["answers"] = {question.key: "…" for question in questions}
    return json.dumps(reply, ensure_ascii=False)


def ideal_reply(
    definition: CampaignDefinition, spans: Sequence[Mapping[str, Any]], answers: Mapping[str, Any] | None = None
) -> str:
    """Return the reply that says given spans and answers, as the prompt asks for it.

    Parameters
    ----------
    definition
        Of the campaign that asks.
    spans
        Each with ``text``, ``category`` (name), and what else the form has (``reason``, ``severity`` …), in text order.
    answers
        By key of the question.
    """
    settings = definition.model or PromptSettings()
    names = _span(definition, settings)
    reply: dict[str, Any] = {"annotations": [{name: span.get(name) for name in names} for span in spans]}
    questions = asked_questions(definition.questions)
    if questions and answers is not None:
        reply["answers"] = {question.key: answers.get(question.key) for question in questions}
    return json.dumps(reply, ensure_ascii=False)


def _span(definition: CampaignDefinition, settings: PromptSettings) -> Schema:
    names = [category.name for category in definition.categories]
    subcategories = [sub.name for category in definition.categories for sub in category.subcategories]
    properties: Schema = {"reason": {"type": "string"}} if asks_reason(settings) else {}
    properties["text"] = {"type": "string"}
    if asks_context(settings):
        properties["context"] = {"type": "string"}
    properties["category"] = {"type": "string", "enum": names}
    if subcategories:
        properties["subcategory"] = {**_NULLABLE_TEXT, "enum": [*dict.fromkeys(subcategories), None]}
    if definition.severities:
        properties["severity"] = {"type": "string", "enum": [level.name for level in definition.severities]}
    if asks_side(definition):
        properties["side"] = {"type": "string", "enum": ["output", "source"]}
    return properties


def _answer(question: AnyQuestion) -> Schema:
    match question:
        case SliderQuestion():
            return {"type": "number"}
        case LikertQuestion():
            return {"type": "integer"}
        case CheckboxQuestion():
            return {"type": "boolean"}
        case ChoiceQuestion():
            return {"type": "string", "enum": [option.label for option in question.options]}
        case ChoicesQuestion():
            labels = [option.label for option in question.options]
            return {"type": "array", "items": {"type": "string", "enum": labels}}
        case _:
            return {"type": "string"}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
