"""The campaign definition: everything that makes one annotation effort what it is, in one file."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from spanplat.schemas.assignment import AnnotatorSettings, BatchSettings, DataSelection, Group, ItemSettings
from spanplat.schemas.base import Strict
from spanplat.schemas.categories import PALETTE, Category, Severity
from spanplat.schemas.checks import (
    AnyCheck,
    GoldCheck,
    InstructedCheck,
    KnownAnswerCheck,
    MustAbstainCheck,
    MustMarkCheck,
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

HOTKEYS = "123456789"


class SpanSettings(Strict):
    """How spans are marked and what is asked about each."""

    granularity: Literal["character", "word", "sentence"] = "word"
    overlap: Literal["allow", "forbid"] = "allow"
    """Whether spans of one annotator may share characters."""
    reason: Literal["off", "optional", "required"] = "off"
    """A short explanation for each span."""
    omissions: bool = False
    """Allow empty marks at a place where something is missing."""
    suggestions_from: Slug | None = None
    """Campaign whose spans are shown as suggestions to accept, change or dismiss."""


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
    questions: list[AnyQuestion] = []
    data: DataSelection | None = None
    """Required unless the campaign is external."""
    item: ItemSettings = ItemSettings()
    batches: BatchSettings = BatchSettings()
    annotators: AnnotatorSettings = AnnotatorSettings()
    groups: list[Group] = []
    consent: Consent | None = None
    comprehension: Comprehension | None = None
    platform: PlatformSettings = PlatformSettings()
    qualification_required: QualificationRequired | None = None
    qualification_given: QualificationGiven | None = None
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
        self._check_wordings()
        self._check_checks()
        return self

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
                self._require_category(check.name, check.expected.category)
            if isinstance(check, GoldCheck):
                for expected in (span for gold in check.golds for span in gold):
                    self._require_category(check.name, expected.category)
        attention = sum(isinstance(check, (MustMarkCheck, MustAbstainCheck, KnownAnswerCheck)) for check in self.checks)
        gold = sum(isinstance(check, GoldCheck) for check in self.checks)
        if self.batches.attention > attention:
            raise ValueError(
                f"each batch needs {self.batches.attention} attention checks, but {attention} are defined under checks"
            )
        if self.batches.gold > gold:
            raise ValueError(f"each batch needs {self.batches.gold} gold items, but {gold} are defined under checks")

    def _require_category(self, check: str, category: str | None) -> None:
        if category is not None and self.find_category(category) is None:
            known = ", ".join(entry.name for entry in self.categories)
            raise ValueError(
                f"check {check!r} expects category {category!r}, which is not defined (categories: {known})"
            )

    def find_category(self, name: str) -> Category | None:
        """Return the category with this key or name (ignoring case), or None."""
        for category in self.categories:
            if name == category.key or name.casefold() == category.name.casefold():
                return category
        return None


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs twice, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)
