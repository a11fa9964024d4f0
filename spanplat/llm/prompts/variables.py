"""What prompt templates see of a campaign and an item."""

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
from spanplat.schemas.questions import (
    AnyQuestion,
    CheckboxQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    LikertQuestion,
    PairQuestion,
    SliderQuestion,
)


@dataclass(frozen=True)
class WorkedExample:
    """A text with the reply it should get."""

    source: Any
    text: str
    reply: str

    @property
    def source_text(self) -> str:
        """The source as a model is shown it."""
        return source_as_text(self.source)


@dataclass(frozen=True)
class PromptInputs:
    """What prompts take from other campaigns."""

    examples: Sequence[WorkedExample] = ()
    instructions: str | None = None
    """Of the human campaign that ``verbatim`` follows; by default the campaign's own guidelines."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question as a model is asked it."""

    key: str
    label: str
    help: str
    answer: str
    """What an answer looks like."""
    placeholder: str
    """What stands for the answer in the form of a reply."""
    tie: bool = False

    @property
    def line(self) -> str:
        """What its line in a reply begins with: the label without the mark at its end."""
        return self.label.rstrip(" .:?!")


@dataclass(frozen=True)
class NamedInput:
    """One field of a source under its own heading."""

    heading: str
    text: str


def template_variables(definition: CampaignDefinition, item: AskedItem, inputs: PromptInputs) -> dict[str, Any]:
    """Return everything that the templates of a campaign see for an item."""
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
    """Return a source as a model is shown it: text as it stands (also where it is the only field), anything else as JSON."""
    if source is None or source in ({}, []):
        return ""
    if isinstance(source, Mapping) and len(source) == 1 and isinstance(only := next(iter(source.values())), str):
        source = only
    if isinstance(source, str):
        return source.strip("\n")
    return json.dumps(source, ensure_ascii=False, indent=2)


def named_inputs(source: Any) -> list[NamedInput]:
    """Return the fields of a source (question, context, history, knowledge, …), each under its own heading."""
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
    match question:
        case SliderQuestion():
            low, high = (_end(question.minimum, question.lowest), _end(question.maximum, question.highest))
            answer, placeholder = f"a number from {low} to {high}", "number"
        case LikertQuestion():
            low, high = _end(1, question.lowest), _end(question.points, question.highest)
            answer, placeholder = f"a whole number from {low} to {high}", "number"
        case ChoiceQuestion():
            answer, placeholder = f"one of: {_options(question)}", "your choice"
        case ChoicesQuestion():
            answer, placeholder = f"a list of any of: {_options(question)}", "your choices"
        case CheckboxQuestion():
            answer, placeholder = "true or false", "true or false"
        case PairQuestion():
            answer, placeholder = "A, B or Tie" if question.tie else "A or B", "your choice"
        case _:
            answer, placeholder = "text; may be empty", "text"
    tie = isinstance(question, PairQuestion) and question.tie
    return AskedQuestion(question.key, question.label, question.help, answer, placeholder, tie)


def _end(number: float, name: str) -> str:
    return f"{number:g} ({name})" if name else f"{number:g}"


def _options(question: ChoiceQuestion | ChoicesQuestion) -> str:
    return "; ".join(option.label for option in question.options)
