"""What a run asks of a model provider, and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class CategoryBrief:
    """A category as a model is told of it."""

    key: str
    name: str
    description: str


@dataclass(frozen=True)
class Task:
    """One item to annotate."""

    text: str
    source: Any
    categories: Sequence[CategoryBrief]
    guidelines: str = ""


@dataclass(frozen=True)
class Reply:
    """What a provider answered, as received, with what it cost."""

    content: str
    """The reply's text: JSON of the shape of `spanplat.schemas.reply.ModelReply`, or prose around it."""
    request: dict[str, Any]
    """What was sent, without any key."""
    model_version: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: float = 0.0
    """US dollars."""
    latency: float = 0.0
    """Seconds."""
    answers: dict[str, Any] = field(default_factory=dict)
    """Answers about the whole item."""


class Provider(Protocol):
    """Something that annotates: a model behind an interface, or an offline baseline."""

    @property
    def name(self) -> str:
        """Identify the annotator: provider, model and whatever else makes it this one."""
        ...

    def annotate(self, task: Task) -> Reply:
        """Annotate one item."""
        ...
