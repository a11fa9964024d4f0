"""Rendering a campaign's prompt for one item, and keeping the prompt with the campaign."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem, JudgedSpan
from spanplat.llm.prompts.library import part_names, part_source, preset_source
from spanplat.llm.prompts.reply_schema import reply_schema
from spanplat.llm.prompts.templates import render_template
from spanplat.llm.prompts.variables import PromptInputs, template_variables
from spanplat.llm.replies.answers import asked_questions
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.prompt_settings import PromptSettings
from spanplat.schemas.questions import PairQuestion

_NOT_TOLD = {"prompt_sha256", "placement", "fuzzy", "instructions_from", "examples_from", "examples", "examples_seed"}
"""Settings that prompts do not depend on, once what they name is taken."""

_TOLD_AT_THE_END = ("final_instructions", "reasoning")
FINAL_PARTS = ("think_briefly", "answer_only")
"""The two final instructions."""


@dataclass(frozen=True)
class Prompt:
    """What a model is sent about one item."""

    user: str
    system: str | None = None
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the reply; None where the reply is not JSON alone."""

    @property
    def sha256(self) -> str:
        """Digest of all of it."""
        content = [self.system, self.user, self.schema]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def render_prompt(definition: CampaignDefinition, item: AskedItem, inputs: PromptInputs | None = None) -> Prompt:
    """Render a campaign's prompt for one item.

    Parameters
    ----------
    definition
        The campaign.
    item
        What is asked about.
    inputs
        Worked examples, and instructions of another campaign.

    Raises
    ------
    InvalidInput
        If the campaign cannot be asked by its preset, or a template is wrong: where, and what.
    """
    settings = definition.model or PromptSettings()
    check_prompt(definition)
    variables = template_variables(definition, item, inputs or PromptInputs())
    user = render_template(_name(settings), _source(settings), lambda name: _part(settings, name), variables)
    return Prompt(user, settings.system_message, reply_schema(definition))


def freeze_prompt(definition: CampaignDefinition) -> CampaignDefinition:
    """Write the text of every template a campaign uses into its definition, so that later versions of the presets change nothing.

    Raises
    ------
    InvalidInput
        If the campaign cannot be asked by its preset, or a template is wrong.
    """
    settings = definition.model
    if settings is None or settings.provider == "overlap":
        return definition
    check_prompt(definition)
    used: list[str] = []
    judged = JudgedSpan("text", "A text.", "Category", "a reason") if definition.item.kind == "span" else None
    item = AskedItem(["A text.", "Another text."], {"field": "value"}, aspect=_any_aspect(definition), judged=judged)
    render_template(
        _name(settings),
        _source(settings),
        lambda name: _part(settings, name),
        template_variables(definition, item, PromptInputs()),
        part_names=used,
    )
    parts = {name: _part(settings, name) for name in dict.fromkeys(used)}
    kept = settings.model_copy(update={"prompt": _source(settings), "parts": parts})
    return definition.model_copy(update={"model": ModelSettings.model_validate(kept.model_dump())})


def prompt_digest(definition: CampaignDefinition) -> str:
    """Return the SHA-256 of all that a campaign's prompts are made of beside the items.

    That is the templates, what is taken from other campaigns, and what of the definition the templates see. Where the prompt is frozen
    (see `freeze_prompt`), campaigns of one digest ask the same words about the same item.
    """
    settings = PromptSettings.model_validate(
        (definition.model or PromptSettings()).model_dump(include=set(PromptSettings.model_fields))
    )
    not_told = _NOT_TOLD if settings.final_instructions else {*_NOT_TOLD, *_TOLD_AT_THE_END}
    content = settings.model_dump(mode="json", exclude=not_told)
    content |= definition.model_dump(
        mode="json", include={"categories", "severities", "guidelines", "questions", "item"}
    )
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def check_prompt(definition: CampaignDefinition) -> None:
    """Make sure that a campaign has what its preset asks about.

    Raises
    ------
    InvalidInput
        Saying what is missing, and what to use in its place.
    """
    settings = definition.model or PromptSettings()
    form, kind = settings.reply_form, definition.item.kind
    questions = asked_questions(definition.questions)
    pairs = [question for question in questions if isinstance(question, PairQuestion)]
    preset = f"preset {settings.preset!r}"
    if kind == "span" and form != "ratings":
        raise InvalidInput(
            f"{preset} reads a whole text; single spans are judged by answers to questions, with preset verbatim"
        )
    if form == "spans" and not definition.categories:
        raise InvalidInput(
            f"{preset} marks spans, but there are no categories; use preset verbatim for ratings, or define categories"
        )
    if form == "spans" and kind == "pair":
        raise InvalidInput(f"{preset} marks spans in one text, but items are pairs; use preset pairwise")
    if form == "choice" and (kind != "pair" or not pairs):
        raise InvalidInput(
            f"{preset} compares two texts; it needs item: {{kind: pair}} and a question of type preference"
        )
    if form == "gauge" and (kind != "aspect" or not definition.categories):
        raise InvalidInput(
            f"{preset} judges one quality; it needs item: {{kind: aspect, aspects: […]}} and a category for its errors"
        )
    if form == "errors" and not definition.categories:
        raise InvalidInput(
            f"{preset} puts errors into one list; it needs the categories of the campaigns it consolidates"
        )
    if form == "ratings" and not questions:
        raise InvalidInput(f"{preset} rates by criteria; it needs questions, of type slider for 0 to 100")
    if (
        settings.preset == "verbatim"
        and settings.instructions == "full"
        and not (settings.instructions_from or definition.guidelines)
    ):
        raise InvalidInput(
            f"{preset} shows the instructions people saw; name their campaign (instructions_from), or write guidelines"
        )
    template = settings.prompt
    if settings.final_instructions and template is not None and not any(name in template for name in FINAL_PARTS):
        raise InvalidInput(
            "final_instructions are asked for, but model.prompt has no place for them; end it with "
            '{{ parts("think_briefly", "answer_only") }}'
        )
    unknown = [name for name in settings.parts if name not in part_names() and settings.prompt is None]
    if unknown:
        raise InvalidInput(f"there is no prompt part {unknown[0]!r} (parts: {', '.join(part_names())})")


def _name(settings: PromptSettings) -> str:
    return "model.prompt" if settings.prompt is not None else settings.preset


def _source(settings: PromptSettings) -> str:
    return settings.prompt if settings.prompt is not None else preset_source(settings.preset)


def _part(settings: PromptSettings, name: str) -> str:
    return settings.parts[name] if name in settings.parts else part_source(name)


def _any_aspect(definition: CampaignDefinition) -> str | None:
    return definition.item.aspects[0].key if definition.item.aspects else None
