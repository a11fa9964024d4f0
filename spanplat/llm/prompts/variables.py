"""Variables of prompt templates, from a campaign and an item."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spanplat.llm.item import AskedItem
from spanplat.llm.prompts.library import complete_aspect
from spanplat.llm.prompts.reply_schema import asks_context, asks_reason, asks_side, reply_form, thinks_aloud
from spanplat.llm.replies.answers import asked_questions
from spanplat.schemas.assignment import Aspect
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.prompt_settings import PromptSettings
from spanplat.schemas.questions import AnyQuestion, PairQuestion


@dataclass(frozen=True)
class PromptExample:
    """A text with its ideal reply."""

    source: Any
    text: str
    reply: str

    @property
    def source_text(self) -> str:
        """Source in the form that a model sees."""
        return source_as_text(self.source)


@dataclass(frozen=True)
class PromptInputs:
    """Inputs of prompts from other campaigns."""

    examples: Sequence[PromptExample] = ()
    instructions: str | None = None
    """Instructions of the human campaign, for preset ``verbatim``. None for the campaign's own guidelines."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question in the form that a model sees."""

    key: str
    label: str
    help: str
    answer: str
    """Description of a valid answer."""
    placeholder: str
    """Placeholder of the answer in the form of a reply."""
    tie: bool = False

    @property
    def line(self) -> str:
        """Beginning of its line in a reply: the label without the mark at its end."""
        return self.label.rstrip(" .:?!")


@dataclass(frozen=True)
class NamedInput:
    """One field of a source under its own heading."""

    heading: str
    text: str


def template_variables(definition: CampaignDefinition, item: AskedItem, inputs: PromptInputs) -> dict[str, Any]:
    """Return all variables of a campaign's templates for an item."""
    settings = definition.model or PromptSettings()
    questions = [_asked(question) for question in asked_questions(definition.questions)]
    gauge = settings.gauge
    numbers = [str(number) for number in range(1, len(gauge.labels) + 1)]
    names = gauge.labels if gauge.score == "labels" else numbers
    return {
        "text": item.text,
        "texts": list(item.texts),
        "source": item.source,
        "source_text": source_as_text(item.source),
        "inputs": named_inputs(item.source),
        "categories": definition.categories,
        "severity_levels": definition.severities,
        "guidelines": definition.guidelines.strip(),
        "questions": questions,
        "examples": list(inputs.examples),
        "instructions": (definition.guidelines if inputs.instructions is None else inputs.instructions).strip("\n"),
        "instructions_kind": settings.instructions,
        "language_pair": settings.language_pair,
        "aspect": _aspect(definition, item),
        "judged": item.judged,
        "gauge": gauge,
        "final_instructions": settings.final_instructions,
        "reasoning_budget": settings.reasoning.budget if settings.reasoning else None,
        "judgement": "label" if gauge.score == "labels" else "score",
        "judgements": ", ".join(gauge.labels)
        if gauge.score == "labels"
        else f"a whole number from 1 to {len(numbers)}",
        # The labels of gauge go from worst to best.
        "worst": names[0],
        "best": names[-1],
        "errors": list(item.errors),
        "most_errors": settings.most_errors,
        "reply_form": reply_form(definition),
        "blank_reply": reply_form(definition, blank=True),
        "ask_reason": asks_reason(settings),
        "ask_context": asks_context(settings),
        "ask_side": asks_side(definition),
        "thinks_aloud": thinks_aloud(settings),
        "has_subcategories": any(category.subcategories for category in definition.categories),
        "has_source_side": any(category.side != "output" for category in definition.categories),
    }


def source_as_text(source: Any) -> str:
    """Return a source in the form that a model sees: text unchanged (also if it is the only field), anything else as JSON."""
    # Compared with the empty containers only: 0 and False are sources with a content.
    if source is None or source in ({}, []):
        return ""
    if isinstance(source, Mapping) and len(source) == 1 and isinstance(only := next(iter(source.values())), str):
        source = only
    if isinstance(source, str):
        return source.strip("\n")
    return json.dumps(source, ensure_ascii=False, indent=2)


def named_inputs(source: Any) -> list[NamedInput]:
    """Return the fields of a source (question, context, history, knowledge, …), each with its own heading."""
    if isinstance(source, Mapping):
        return [
            NamedInput(str(name).replace("_", " ").strip().capitalize(), source_as_text(value))
            for name, value in source.items()
            if source_as_text(value)
        ]
    text = source_as_text(source)
    return [NamedInput("Source", text)] if text else []


def _aspect(definition: CampaignDefinition, item: AskedItem) -> Aspect | None:
    found = next((aspect for aspect in definition.item.aspects if aspect.key == item.aspect), None)
    return complete_aspect(found) if found and definition.model and definition.model.preset == "gauge" else found


def _asked(question: AnyQuestion) -> AskedQuestion:
    hint = question.reply_hint()
    tie = isinstance(question, PairQuestion) and question.tie
    return AskedQuestion(question.key, question.label, question.help, hint.answer, hint.placeholder, tie)
