"""Settings of prompts, and of the parsing of replies."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from spanplat.schemas.base import Strict, refuse
from spanplat.schemas.slug import SLUG_PATTERN, Slug

Preset = Literal[
    "base", "noguide", "noreason", "cot", "lenient", "fewshot", "mqm", "gauge", "verbatim", "pairwise", "consolidate"
]
ReplyForm = Literal["spans", "gauge", "ratings", "choice", "errors"]

_FORMS: dict[str, ReplyForm] = {"gauge": "gauge", "verbatim": "ratings", "pairwise": "choice", "consolidate": "errors"}
Member = Annotated[str, StringConstraints(pattern=SLUG_PATTERN.removesuffix("$") + r"(?:#[1-9]\d*)?$", max_length=130)]
"""A campaign, or one of its annotators by number."""
_NUMBER = re.compile(r"\d+")


class GaugeSettings(Strict):
    """Scales of the preset ``gauge``."""

    score: Literal["labels", "integer"] = "labels"
    """Whether the whole is judged by a label or by a whole number."""
    labels: list[str] = Field(default=["Unacceptable", "Poor", "Fair", "Good", "Excellent"], min_length=2)
    """From worst to best; they count 1, 2, 3, …"""
    severities: Literal["numbers", "words"] = "numbers"
    """Severity of an error: 1 to 5, or Neutral, Minor, Major, Critical."""
    rules: bool = True
    """Whether the prompt explains the relation between errors and label."""

    def score_of(self, label: str) -> int | None:
        """Return the number of a label, counted from 1 for the worst; None for an unknown label and for several labels."""
        bare = label.strip(" \t\n*_`\"'.[]()").casefold()
        names = [name.casefold() for name in self.labels]
        # The longest label first: "Good enough" also begins with the label "Good".
        for number, name in sorted(enumerate(names, start=1), key=lambda numbered: -len(numbered[1])):
            if re.match(rf"{re.escape(name)}\b", bare):
                others = "|".join(re.escape(other) for other in names if other != name)
                # "Good, Excellent" and "Good to Excellent" name several labels, so neither is the answer.
                several = re.match(rf"\s*(?:,|/|-|–|—|or|to|and)+\s*(?:{others})\b", bare[len(name) :])
                return None if several else number
        found = _NUMBER.match(bare)
        # A decimal number or a range ("3-4") is no label, and neither is a number out of another scale ("3/10").
        if found and re.match(r"[.,]\d|\s*(?:-|–|—|or|to)\s*\d", bare[found.end() :]):
            return None
        number = int(found[0]) if found and len(found[0]) < 4 else 0
        of = re.match(r"\s*(?:/|out of)\s*(\d+)", bare[found.end() :]) if found else None
        if of and of[1] != str(len(self.labels)):
            return None
        return number if 1 <= number <= len(self.labels) else None


class ReasoningSettings(Strict):
    """Effort and limit of a model's reasoning before its answer."""

    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """Level of effort, by the provider's names; not every model accepts every level."""
    budget: int | None = Field(default=None, ge=1)
    """Maximum number of reasoning tokens, fewer than ``max_tokens``; Anthropic accepts 1,024 or more. OpenAI accepts no such number:
    there only the final instructions state it."""
    budget_for: Literal["auto", "words", "openrouter", "dashscope", "vllm", "gemini"] = "auto"
    """For ``openai`` with a ``base_url``: the server whose field is used for the budget. ``auto`` recognises OpenRouter, DashScope and
    Gemini by their addresses; ``words`` sends no field."""


class TakenExample(Strict):
    """A worked example as it was drawn from a gold campaign."""

    example: str
    """Split and key of the example it is about."""
    source: Any = None
    text: str
    reply: str
    """The expected reply."""


class TakenInputs(Strict):
    """Inputs of prompts from other campaigns, in their state when this campaign was created."""

    instructions: str | None = None
    """Instructions of the campaign that ``instructions_from`` names."""
    examples: list[TakenExample] = []
    """Drawn from the campaign that ``examples_from`` names."""


class PromptSettings(Strict):
    """The text side of a model campaign: prompt, examples, form of the reply, and how its quotes are placed."""

    preset: Preset = "base"
    """A named combination of parts; see ``spanplat campaign prompt``."""
    prompt: str | None = None
    """A Jinja2 template in place of the preset's."""
    parts: dict[str, str] = {}
    """Jinja2 templates in place of single parts of the preset, by their names; an empty one leaves the part out."""
    reply: ReplyForm | None = None
    """Form of the replies to an own ``prompt``; by default that of the preset."""
    system_message: str | None = None
    language_pair: str | None = None
    """Language pair of translations, as the prompt names it: English to German."""
    visible_reasoning: bool = False
    """Whether the preset ``mqm`` makes the model write its steps before its answer."""
    instructions_from: Slug | None = None
    """Human campaign whose instructions ``verbatim`` shows."""
    instructions: Literal["full", "definitions", "minimal"] = "full"
    """For ``verbatim``: all that people saw, a single sentence and the criteria with their definitions, or without definitions."""
    examples_from: Slug | None = None
    """Gold campaign from which ``fewshot`` draws its examples."""
    examples: int = Field(default=5, ge=0)
    examples_seed: int = 42
    taken: TakenInputs | None = Field(default=None, json_schema_extra={"readOnly": True})
    """Written when the campaign is created, so that later changes of those campaigns do not change what this one is asked."""
    prompt_sha256: str | None = Field(default=None, json_schema_extra={"readOnly": True})
    """Digest of all inputs of the prompts except the items; written when the campaign is created."""
    gauge: GaugeSettings = GaugeSettings()
    reasoning: ReasoningSettings | None = None
    final_instructions: bool = False
    """Whether the prompt ends with two instructions for models that reason: how long to think (part ``think_briefly``), and that the
    answer is nothing but the reply asked for (part ``answer_only``)."""
    consolidates: list[Member] = []
    """For ``consolidate``: campaigns on the same items whose errors are put into one list; their scores are averaged.
    ``campaign#2`` is only the second annotator of a campaign, such as one repeat of a model."""
    most_errors: int = Field(default=8, ge=1)
    """For ``consolidate``: errors kept for each text, the most severe first."""
    placement: Literal["in_order", "first"] = "in_order"
    """Place of the k-th mention of a repeated quote: its k-th occurrence, or always the first."""
    fuzzy: float = Field(default=0, ge=0, le=0.4)
    """Share of a quote's characters that may differ from the text when nothing else finds it; 0 places no such quote."""

    @property
    def reply_form(self) -> ReplyForm:
        """Form of replies: spans in JSON, errors and a label in lines, ratings, a choice between two, or errors in lines."""
        return self.reply or _FORMS.get(self.preset, "spans")

    @model_validator(mode="after")
    def _consistent(self) -> "PromptSettings":
        if self.preset == "fewshot" and self.prompt is None and self.examples_from is None:
            message = "preset 'fewshot' needs examples_from, the gold campaign its examples are drawn from"
            refuse([(("examples_from",), message)])
        if (self.preset == "consolidate") != bool(self.consolidates):
            refuse([(("consolidates",), "preset 'consolidate' and the list consolidates, of campaigns, go together")])
        return self
