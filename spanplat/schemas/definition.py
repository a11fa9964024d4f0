"""The campaign definition: everything that makes one annotation effort what it is, in one file."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings, DataSelection, Group, ItemSettings
from spanplat.schemas.attributes import AnySpanAttribute, distinct_attributes
from spanplat.schemas.base import Strict
from spanplat.schemas.categories import PALETTE, Category, Severity
from spanplat.schemas.checks import (
    AnyCheck,
    GoldCheck,
    InstructedCheck,
    KnownAnswerCheck,
    MustAbstainCheck,
    MustMarkCheck,
    PracticeItem,
)
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
"""What categories without a key of their own get: digits, then letters that the page does not use for anything else."""


class SpanSettings(Strict):
    """How spans are marked and what is asked about each."""

    granularity: Literal["character", "word", "sentence"] = "word"
    overlap: Literal["allow", "forbid"] = "allow"
    """Whether spans of one annotator may share characters."""
    reason: Literal["off", "optional", "required"] = "off"
    """A short explanation for each span."""
    omissions: bool = False
    """Allow empty marks at a place where something is missing."""
    attributes: Annotated[list[AnySpanAttribute], AfterValidator(distinct_attributes)] = []
    """What else is asked about each span."""
    suggestions_from: Slug | None = None
    """Campaign whose spans are shown as suggestions to accept, change or dismiss: its first annotator's on each text."""
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
    """Severity scale, mildest first; none asked for when empty."""
    spans: SpanSettings = SpanSettings()
    guidelines: str = ""
    """Markdown; what annotators read first and models are told."""
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
    """For a model campaign: the qualification it takes; of the data selected, it annotates the gold outputs only."""
    checks: list[AnyCheck] = []
    model: ModelSettings | None = None
    final_message: str = ""
    """Shown with the completion code; Markdown."""

    @field_validator("categories", "severities", "questions", "groups", "checks")
    @classmethod
    def _distinct(cls, value: list[Any], info: ValidationInfo) -> list[Any]:
        for attribute in ("key", "name"):
            names = [str(getattr(entry, attribute)).casefold() for entry in value if hasattr(entry, attribute)]
            if repeated := first_repeated(names):
                raise ValueError(f"two {info.field_name} have the {attribute} {repeated!r}; rename one or remove it")
        return value

    @field_validator("categories")
    @classmethod
    def _colours_and_hotkeys(cls, value: list[Category]) -> list[Category]:
        if repeated := first_repeated([category.hotkey for category in value if category.hotkey]):
            raise ValueError(f"two categories have the hotkey {repeated!r}; give one of them another")
        taken = {category.hotkey for category in value if category.hotkey}
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
        if self.kind != "external" and self.data is None:
            raise ValueError("data is missing: name the dataset whose outputs are annotated (data: {dataset: …})")
        if not self.categories and not self.questions:
            raise ValueError("there is nothing to annotate: define categories, questions, or both")
        if self.kind == "llm" and self.model is None:
            raise ValueError("a campaign of kind 'llm' needs model settings (model: {provider: …})")
        if self.kind == "qualification" and self.qualification_given is None:
            raise ValueError("a campaign of kind 'qualification' needs qualification_given, how it decides who passes")
        if self.kind in ("human", "qualification") and self.model is not None:
            raise ValueError(f"a campaign of kind {self.kind!r} is filled by people; remove model, or use kind: llm")
        if self.qualification_taken is not None and self.kind != "llm":
            raise ValueError("qualification_taken is for model campaigns; people take a qualification by its own link")
        self._check_suggestions()
        self._check_worked_examples()
        self._check_wordings()
        self._check_checks()
        return self

    def _check_suggestions(self) -> None:
        source = self.spans.suggestions_from
        if source is None:
            if self.spans.suggestions == "required":
                raise ValueError("suggestions are required, but spans.suggestions_from does not name a campaign")
            return
        if source == self.slug:
            raise ValueError(
                "spans.suggestions_from names this campaign itself; name the one whose spans are suggested"
            )
        if self.kind == "llm" or self.item.kind == "span" or not self.categories:
            raise ValueError("suggestions are shown to people who mark spans; remove spans.suggestions_from")
        if self.qualification_given is not None and self.qualification_given.reference == source:
            raise ValueError(f"suggesting the spans of {source!r} would show the answers of the qualification")

    def _check_worked_examples(self) -> None:
        levels = {name for level in self.severities for name in (level.key, level.name)}
        for number, example in enumerate(self.worked_examples, start=1):
            for span in example.spans:
                self._require_category(f"worked example {number}", span.category)
                if span.severity is not None and span.severity not in levels:
                    raise ValueError(
                        f"worked example {number} has the severity {span.severity!r}, which is not defined"
                    )

    def _check_wordings(self) -> None:
        groups = {group.key for group in self.groups}
        for question in self.questions:
            for group in question.wording:
                if group not in groups:
                    known = ", ".join(sorted(groups)) or "none"
                    raise ValueError(
                        f"question {question.key!r} has a wording for group {group!r}, which is not defined (groups: {known})"
                    )

    def _check_checks(self) -> None:
        questions = {question.key for question in self.questions}
        for check in self.checks:
            if isinstance(check, (InstructedCheck, KnownAnswerCheck)) and check.question not in questions:
                raise ValueError(f"check {check.name!r} asks question {check.question!r}, which is not defined")
            if isinstance(check, MustMarkCheck):
                self._require_category(f"check {check.name!r}", check.expected.category)
            if isinstance(check, GoldCheck):
                for expected in (span for gold in check.golds for span in gold):
                    self._require_category(f"check {check.name!r}", expected.category)
        for position, practice in enumerate(self.practice, start=1):
            for expected in (span for gold in practice.golds for span in gold):
                self._require_category(f"practice item {position}", expected.category)
        attention = sum(isinstance(check, (MustMarkCheck, MustAbstainCheck, KnownAnswerCheck)) for check in self.checks)
        gold = sum(isinstance(check, GoldCheck) for check in self.checks)
        if self.batches.attention > attention:
            raise ValueError(
                f"each batch needs {self.batches.attention} attention checks, but {attention} are defined under checks"
            )
        if self.batches.gold > gold:
            raise ValueError(f"each batch needs {self.batches.gold} gold items, but {gold} are defined under checks")

    def _require_category(self, where: str, category: str | None) -> None:
        if category is not None and self.find_category(category) is None:
            known = ", ".join(entry.name for entry in self.categories)
            raise ValueError(f"{where} expects category {category!r}, which is not defined (categories: {known})")

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


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
