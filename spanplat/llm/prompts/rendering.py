"""Rendering of a campaign's prompt for one item, and storage of the prompt in the campaign."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem, AskedSpan
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
"""Settings that the prompts do not depend on, once the inputs from other campaigns are stored."""

# Only the two final instructions state these settings to the model.
_TOLD_AT_THE_END = ("final_instructions", "reasoning")
FINAL_PARTS = ("think_briefly", "answer_only")
"""Prompt parts of the two final instructions."""


@dataclass(frozen=True)
class Prompt:
    """Prompt about one item."""

    user: str
    system: str | None = None
    schema: Mapping[str, Any] | None = None
    """JSON Schema of the reply. None if the reply is not only JSON."""

    @property
    def sha256(self) -> str:
        """Digest of all parts of the prompt."""
        content = [self.system, self.user, self.schema]
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def render_prompt(definition: CampaignDefinition, item: AskedItem, inputs: PromptInputs | None = None) -> Prompt:
    """Render a campaign's prompt for one item.

    Parameters
    ----------
    definition
        The campaign.
    item
        The item.
    inputs
        Worked examples, and instructions of another campaign.

    Raises
    ------
    InvalidInput
        If the campaign does not fit its preset, or a template is wrong. The message says where and why.
    """
    settings = definition.model or PromptSettings()
    check_prompt(definition)
    variables = template_variables(definition, item, inputs or PromptInputs())
    user = render_template(_name(settings), _source(settings), lambda name: _part(settings, name), variables)
    return Prompt(user, settings.system_message, reply_schema(definition))


def freeze_prompt(definition: CampaignDefinition) -> CampaignDefinition:
    """Write the text of every template of a campaign into its definition, so that later versions of the presets change nothing.

    Raises
    ------
    InvalidInput
        If the campaign does not fit its preset, or a template is wrong.
    """
    settings = definition.model
    if settings is None or settings.is_offline:
        return definition
    check_prompt(definition)
    # A made-up item is rendered only to learn which parts the template uses.
    used: list[str] = []
    judged = AskedSpan("text", "A text.", "Category", "a reason") if definition.item.kind == "span" else None
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
    # model_copy does not validate, so the settings are validated here.
    return definition.model_copy(update={"model": ModelSettings.model_validate(kept.model_dump())})


def prompt_digest(definition: CampaignDefinition) -> str:
    """Return the SHA-256 of everything that a campaign's prompts depend on, except the items.

    That is the templates, the inputs from other campaigns, and the parts of the definition that templates see. If the prompts are
    frozen (see `freeze_prompt`), campaigns with the same digest send the same words about the same item.
    """
    # Only the settings of the prompt: model, price and limits do not change the words.
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
    """Check that a campaign has everything that its preset needs.

    Raises
    ------
    InvalidInput
        If something is missing. The message says what, and what to use instead.
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
    # A template of the campaign's own may have parts of its own, under any names.
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
