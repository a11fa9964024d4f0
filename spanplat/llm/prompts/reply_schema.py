"""Form of a reply in JSON, for the prompt and as a JSON Schema. The reason comes before the passage."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.llm.replies.answers import asked_questions
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import PromptSettings

Schema = dict[str, Any]

_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}


def asks_reason(settings: PromptSettings) -> bool:
    """Return whether each span has a reason."""
    return settings.preset != "noreason"


def asks_context(settings: PromptSettings) -> bool:
    """Return whether each passage is repeated with its context."""
    return settings.preset == "mqm"


def asks_side(definition: CampaignDefinition) -> bool:
    """Return whether each span names its side, because a category is allowed on both sides."""
    return any(category.side == "both" for category in definition.categories)


def thinks_aloud(settings: PromptSettings) -> bool:
    """Return whether the model writes its reasoning before the answer, so that its reply is not only JSON."""
    return settings.preset == "cot" or (settings.preset == "mqm" and settings.visible_reasoning)


def reply_schema(definition: CampaignDefinition) -> Schema | None:
    """Return the JSON Schema of a campaign's replies, or None if they are lines of text or begin with reasoning.

    Every property is required, and no other is allowed. Providers demand this of a schema that they enforce.
    """
    settings = definition.model or PromptSettings()
    # With an enforced schema, a model could not write its reasoning before the JSON.
    if settings.reply_form != "spans" or thinks_aloud(settings):
        return None
    properties: Schema = {"annotations": {"type": "array", "items": _object(_span(definition, settings))}}
    questions = asked_questions(definition.questions)
    if questions:
        properties["answers"] = _object({question.key: question.reply_schema() for question in questions})
    return _object(properties)


def reply_form(definition: CampaignDefinition, *, blank: bool = False) -> str:
    """Return a reply with dots as values. With ``blank``, return a reply that marks nothing."""
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
    """Return the reply with given spans and answers, in the form that the prompt asks for.

    Parameters
    ----------
    definition
        Definition of the campaign.
    spans
        Spans in text order, with ``text``, ``category`` (name), and the other fields of the form (``reason``, ``severity`` …).
    answers
        Answers by key of the question.
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
    # The order counts, because a model writes the fields in this order: it explains an error before it quotes it.
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


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
