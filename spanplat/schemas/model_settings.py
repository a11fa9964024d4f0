"""Settings of a language model as an annotator."""

from typing import Any, Literal

from pydantic import Field, HttpUrl

from spanplat.schemas.base import Strict
from spanplat.schemas.slug import Slug


class ModelSettings(Strict):
    """Which model annotates, how it is asked, and within which limits."""

    provider: Literal["overlap", "openai", "anthropic"]
    """``overlap`` is the offline baseline; an OpenAI-compatible server is ``openai`` with a ``base_url``."""
    model: str = ""
    """Name of the model as the provider spells it; not needed for ``overlap``."""
    category: str | None = None
    """For ``overlap``: key or name of the category its spans get; the first category by default."""
    base_url: HttpUrl | None = None
    preset: Literal[
        "base", "noguide", "noreason", "cot", "lenient", "fewshot", "mqm", "gauge", "verbatim", "pairwise"
    ] = "base"
    prompt: str | None = None
    """A Jinja2 template in place of the preset's."""
    system_message: str | None = None
    examples_from: Slug | None = None
    """Gold campaign from which ``fewshot`` draws its examples."""
    examples: int = Field(default=5, ge=0)
    parameters: dict[str, Any] = {}
    """Sent to the provider as they stand: temperature, seed, max_tokens, …"""
    repeats: int = Field(default=1, ge=1)
    placement: Literal["in_order", "first"] = "in_order"
    """Where the k-th mention of a repeated quote goes: to its k-th occurrence, or always to the first."""
    concurrency: int = Field(default=8, ge=1, le=256)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars at which the run stops."""
