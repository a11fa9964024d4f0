"""Base class of questions."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, get_args

from pydantic import Field, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.slug import Slug, slugify

Answer = bool | int | float | str | list[str]
"""An answer as it is stored."""
Average = Callable[[Sequence[float]], float]


class ReplyHint(NamedTuple):
    """Description of a model's answer in a prompt."""

    answer: str
    """Form of an answer."""
    placeholder: str
    """Placeholder for the answer in the form of a reply."""


def short_slug(label: str) -> str:
    """Return the slug of a wording, cut to the maximum length of a key."""
    return slugify(label)[:60].strip("-")


class Question(Strict):
    """Base class of all questions: a key in the answers, a wording, and whether an answer is required."""

    kind_title: ClassVar[str]
    """Name of this kind on forms."""
    is_voted_on: ClassVar[bool] = False
    """Whether the majority decides between the answers of several annotators."""

    key: Slug
    label: str = Field(min_length=1)
    help: str = ""
    required: bool = True
    wording: dict[str, str] = {}
    """Wording by group key, where groups see a different sentence."""

    @model_validator(mode="before")
    @classmethod
    def _derive_key(cls, value: Any) -> Any:
        if isinstance(value, dict) and not value.get("key") and isinstance(value.get("label"), str):
            return {**value, "key": short_slug(value["label"])}
        return value

    @classmethod
    def kind(cls) -> str:
        """Return the name of this kind in definitions, which also names its template: ``annotator/question_<kind>.html``."""
        return str(get_args(cls.model_fields["type"].annotation)[0])

    def label_for(self, group: str | None) -> str:
        """Return the wording for members of ``group``."""
        return self.wording.get(group or "", self.label)

    @property
    def scale(self) -> tuple[float, float] | None:
        """Ends of the scale of a score; None if the answer is no score."""
        return None

    @property
    def fewest(self) -> int:
        """Least number of chosen options, even if the question is not required; 0 if the answer is no list of options."""
        return 0

    @abstractmethod
    def problem_with(self, answer: Any) -> str | None:
        """Return why a value cannot be stored as an answer; None if it can."""

    def is_unanswered(self, answer: Any) -> bool:
        """Tell whether a required answer is still missing."""
        return not answer.strip() if isinstance(answer, str) else answer in (None, [])

    @abstractmethod
    def reply_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of a model's answer."""

    @abstractmethod
    def reply_hint(self) -> ReplyHint:
        """Return how a prompt describes a model's answer."""

    @abstractmethod
    def read(self, given: Any) -> Answer | None:
        """Parse a model's answer (text, a number, a truth value or a list); return None if it is no answer to this question."""

    def combine(self, answers: Sequence[Any], average: Average) -> Any:
        """Return the combined answer of several annotators, of whom at least one answered; None if there is none."""
        del answers, average

    def turned(self, answer: Any) -> Any:
        """Return the same answer about a pair for the texts in the other order."""
        return answer
