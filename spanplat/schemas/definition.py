"""The campaign definition: the complete description of a campaign in one file."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings, DataSelection, Group, ItemSettings
from spanplat.schemas.attributes import AnySpanAttribute, distinct_attributes
from spanplat.schemas.base import PathInValue, Strict, refuse
from spanplat.schemas.categories import PALETTE, Category, Severity
from spanplat.schemas.checks import AnyCheck, PracticeItem
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.platform import (
    Comprehension,
    Consent,
    PlatformSettings,
    QualificationGiven,
    QualificationRequired,
)
from spanplat.schemas.questions import AnyQuestion
from spanplat.schemas.slug import Slug
from spanplat.schemas.worked_examples import WorkedExample

HOTKEYS = "123456789bcdeghjklmoqrstuvwyz"
"""Hotkeys of categories that state none: digits, then letters that the page does not use otherwise."""


class SpanSettings(Strict):
    """Rules for marking spans, and the questions about each span."""

    granularity: Literal["character", "word", "sentence"] = "word"
    overlap: Literal["allow", "forbid"] = "allow"
    """Whether spans of one annotator may share characters."""
    reason: Literal["off", "optional", "required"] = "off"
    """A short explanation for each span."""
    omissions: bool = False
    """Allow empty marks at a place where something is missing."""
    attributes: Annotated[list[AnySpanAttribute], AfterValidator(distinct_attributes)] = []
    """Further questions about each span."""
    suggestions_from: Slug | None = None
    """Campaign whose spans are shown as suggestions to accept, change or dismiss: on each text, those of its first annotator."""
    suggestions: Literal["optional", "required"] = "optional"
    """Whether an item is complete only when every suggestion was accepted, changed or dismissed."""


class CampaignDefinition(Strict):
    """One annotation effort: categories, guidelines, questions, data, who annotates, and the checks on their work.

    Raises
    ------
    pydantic.ValidationError
        For unknown keys, missing names, two categories of one name or key, and settings that contradict each other.
    """

    slug: Slug
    """The campaign's name in commands and addresses."""
    title: str = Field(min_length=1, max_length=200)
    kind: Literal["human", "llm", "qualification", "external"] = "human"
    language: str = "en"
    """Language of the interface shown to annotators."""
    categories: list[Category] = []
    severities: list[Severity] = []
    """Severity scale, mildest first; without levels no severity is asked for."""
    spans: SpanSettings = SpanSettings()
    guidelines: str = ""
    """Instructions for annotators and models, in Markdown."""
    worked_examples: list[WorkedExample] = []
    """Annotated texts that the instructions show, drawn as on the annotator's page."""
    questions: list[AnyQuestion] = []
    data: DataSelection | None = None
    """Required unless the campaign is external."""
    item: ItemSettings = ItemSettings()
    batches: BatchSettings = BatchSettings()
    annotators: AnnotatorSettings = AnnotatorSettings()
    groups: list[Group] = []
    consent: Consent | None = None
    comprehension: Comprehension | None = None
    practice: list[PracticeItem] = []
    """Texts to practise on, each with immediate feedback, between the questions about the instructions and the work."""
    platform: PlatformSettings = PlatformSettings()
    qualification_required: QualificationRequired | None = None
    qualification_given: QualificationGiven | None = None
    qualification_taken: Slug | None = None
    """For a model campaign: the qualification that it takes. It annotates only the gold outputs of the selected data."""
    checks: list[AnyCheck] = []
    model: ModelSettings | None = None
    final_message: str = ""
    """Shown with the completion code; Markdown."""

    @field_validator("categories", "severities", "questions", "groups", "checks")
    @classmethod
    def _distinct(cls, value: list[Any], info: ValidationInfo) -> list[Any]:
        for attribute in ("name", "key"):
            # Without regard to case, because categories are also found without regard to case.
            names = [str(getattr(entry, attribute)).casefold() for entry in value if hasattr(entry, attribute)]
            refuse(
                (
                    (position, attribute),
                    f"two {info.field_name} have the {attribute} {names[position]!r}; rename one or remove it",
                )
                for position in repeated_positions(names)
            )
        return value

    @field_validator("categories")
    @classmethod
    def _colours_and_hotkeys(cls, value: list[Category]) -> list[Category]:
        hotkeys = [category.hotkey for category in value]
        refuse(
            ((position, "hotkey"), f"two categories have the hotkey {hotkeys[position]!r}; give one of them another")
            for position in repeated_positions(hotkeys)
            if hotkeys[position]
        )
        # The choices are stored with the definition, so that colours and keys stay the same in later versions.
        taken = {hotkey for hotkey in hotkeys if hotkey}
        free = iter(key for key in HOTKEYS if key not in taken)
        return [
            category.model_copy(
                update={
                    "color": category.color or PALETTE[position % len(PALETTE)],
                    "hotkey": category.hotkey or next(free, None),
                }
            )
            for position, category in enumerate(value)
        ]

    @model_validator(mode="after")
    def _consistent(self) -> "CampaignDefinition":
        # All checks together, so that one attempt shows every mistake.
        refuse(
            (
                *self._mistakes_of_kind(),
                *self._mistakes_in_suggestions(),
                *self._mistakes_in_worked_examples(),
                *self._mistakes_in_wordings(),
                *self._mistakes_in_checks(),
                *self._mistakes_in_batches(),
            )
        )
        return self

    def _mistakes_of_kind(self) -> Iterator[tuple[PathInValue, str]]:
        if self.kind != "external" and self.data is None:
            yield ("data",), "is missing: name the dataset whose outputs are annotated (data: {dataset: …})"
        if not self.categories and not self.questions:
            yield ("categories",), "there is nothing to annotate: define categories, questions, or both"
        if self.kind == "llm" and self.model is None:
            yield ("model",), "a campaign of kind 'llm' needs model settings (model: {provider: …})"
        if self.kind == "qualification" and self.qualification_given is None:
            message = "a campaign of kind 'qualification' needs qualification_given, how it decides who passes"
            yield ("qualification_given",), message
        if self.kind in ("human", "qualification") and self.model is not None:
            yield ("model",), f"a campaign of kind {self.kind!r} is filled by people; remove model, or use kind: llm"
        if self.qualification_taken is not None and self.kind != "llm":
            message = "qualification_taken is for model campaigns; people take a qualification by its own link"
            yield ("qualification_taken",), message

    def _mistakes_in_suggestions(self) -> Iterator[tuple[PathInValue, str]]:
        source = self.spans.suggestions_from
        if source is None:
            if self.spans.suggestions == "required":
                message = "suggestions are required, but spans.suggestions_from does not name a campaign"
                yield ("spans", "suggestions_from"), message
        elif source == self.slug:
            message = "spans.suggestions_from names this campaign itself; name the one whose spans are suggested"
            yield ("spans", "suggestions_from"), message
        elif self.kind == "llm" or self.item.kind == "span" or not self.categories:
            message = "suggestions are shown to people who mark spans; remove spans.suggestions_from"
            yield ("spans", "suggestions_from"), message
        elif self.qualification_given is not None and self.qualification_given.reference == source:
            message = f"suggesting the spans of {source!r} would show the answers of the qualification"
            yield ("spans", "suggestions_from"), message

    def _mistakes_in_worked_examples(self) -> Iterator[tuple[PathInValue, str]]:
        levels = {name for level in self.severities for name in (level.key, level.name)}
        for position, example in enumerate(self.worked_examples):
            place, name = ("worked_examples", position, "spans"), f"worked example {position + 1}"
            yield from self._unknown_categories(
                name, (((*place, number, "category"), span.category) for number, span in enumerate(example.spans))
            )
            for number, span in enumerate(example.spans):
                if span.severity is not None and span.severity not in levels:
                    message = f"{name} has the severity {span.severity!r}, which is not defined"
                    yield (*place, number, "severity"), message

    def _mistakes_in_wordings(self) -> Iterator[tuple[PathInValue, str]]:
        groups = {group.key for group in self.groups}
        known = ", ".join(sorted(groups)) or "none"
        for position, question in enumerate(self.questions):
            for group in question.wording:
                if group not in groups:
                    yield (
                        ("questions", position, "wording", group),
                        f"question {question.key!r} has a wording for group {group!r}, which is not defined (groups: {known})",
                    )

    def _mistakes_in_checks(self) -> Iterator[tuple[PathInValue, str]]:
        questions = {question.key for question in self.questions}
        for position, check in enumerate(self.checks):
            place, name = ("checks", position), f"check {check.name!r}"
            if check.asked_question is not None and check.asked_question not in questions:
                yield (*place, "question"), f"{name} asks question {check.asked_question!r}, which is not defined"
            yield from self._unknown_categories(name, _expected_categories(place, check))
        for position, practice in enumerate(self.practice):
            expected_there = _expected_categories(("practice", position), practice)
            yield from self._unknown_categories(f"practice item {position + 1}", expected_there)

    def _mistakes_in_batches(self) -> Iterator[tuple[PathInValue, str]]:
        wanted = self.batches
        attention = sum(check.role == "attention" for check in self.checks)
        gold = sum(check.role == "gold" for check in self.checks)
        if wanted.attention > attention:
            message = f"each batch needs {wanted.attention} attention checks, but {attention} are defined under checks"
            yield ("batches", "attention"), message
        if wanted.gold > gold:
            message = f"each batch needs {wanted.gold} gold items, but {gold} are defined under checks"
            yield ("batches", "gold"), message

    def _unknown_categories(
        self, name: str, expected: Iterable[tuple[PathInValue, str | None]]
    ) -> Iterator[tuple[PathInValue, str]]:
        """Yield one mistake for each expected category that is not defined, at its first place."""
        told: set[str] = set()
        for place, category in expected:
            if category is not None and category not in told and self.find_category(category) is None:
                told.add(category)
                known = ", ".join(entry.name for entry in self.categories)
                yield place, f"{name} expects category {category!r}, which is not defined (categories: {known})"

    @property
    def marks_source(self) -> bool:
        """Whether some category is marked in the source."""
        return any(category.side != "output" for category in self.categories)

    def find_category(self, name: str) -> Category | None:
        """Return the category with this key or name (ignoring case), or None."""
        for category in self.categories:
            if name == category.key or name.casefold() == category.name.casefold():
                return category
        return None


def _expected_categories(place: PathInValue, item: AnyCheck | PracticeItem) -> Iterator[tuple[PathInValue, str | None]]:
    for within, span in item.expected_spans():
        yield (*place, *within, "category"), span.category


def repeated_positions(names: Sequence[str | None]) -> Iterator[int]:
    """Yield the positions of names that occurred before.

    >>> list(repeated_positions(["a", "b", "a"]))
    [2]
    """
    seen: set[str | None] = set()
    for position, name in enumerate(names):
        if name in seen:
            yield position
        seen.add(name)
