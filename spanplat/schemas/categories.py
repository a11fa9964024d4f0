"""Span categories and severity levels of a campaign."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from spanplat.schemas.base import Strict
from spanplat.schemas.slug import Slug, slugify

Color = Annotated[str, StringConstraints(pattern=r"^#[0-9a-fA-F]{6}$")]

# Okabe and Ito's colour-blind-safe set (without its black), then darker and lighter companions for campaigns with more categories.
PALETTE: tuple[str, ...] = (
    "#D55E00", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#8C564B", "#7F6BB3", "#B8A000", "#5C5C5C", "#A23B2A", "#1F4E79",
)  # fmt: skip

PALETTES: Mapping[str, tuple[str, ...]] = {
    "Okabe–Ito": PALETTE,
    "Tol bright": ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB"),
    "Tol vibrant": ("#EE7733", "#0077BB", "#33BBEE", "#EE3377", "#CC3311", "#009988", "#BBBBBB"),
    "Tol muted": (
        "#CC6677", "#332288", "#DDCC77", "#117733", "#88CCEE", "#882255", "#44AA99", "#999933", "#AA4499", "#DDDDDD",
    ),
}  # fmt: skip
"""Colour-blind-safe sets by name (M. Okabe, K. Ito, Color Universal Design, 2008; P. Tol, SRON/EPS/TN/09-002, 2021)."""


def with_key(value: Any) -> Any:
    """Add a key to a mapping with a name but without a key: the slug of the name."""
    if isinstance(value, dict) and not value.get("key") and isinstance(value.get("name"), str):
        return {**value, "key": slugify(value["name"])}
    return value


class Named(Strict):
    """Something with a name for people and a stable key for data; the key defaults to the slug of the name."""

    key: Slug
    name: str = Field(min_length=1, max_length=120)
    description: str = ""

    @model_validator(mode="before")
    @classmethod
    def _derive_key(cls, value: Any) -> Any:
        return with_key(value)


class Subcategory(Named):
    """A finer kind within a category."""


class Category(Named):
    """A label for spans."""

    # pydantic does not validate defaults, so it may be empty here; the definition then fills it in.
    color: Color = ""
    """``#rrggbb``; categories without one take the next colour of a colour-blind-safe palette."""
    hotkey: Annotated[str, StringConstraints(min_length=1, max_length=1)] | None = None
    """One character; categories without one take their number."""
    side: Literal["output", "source", "both"] = "output"
    """Text in which its spans may be: the output, the source (an omission), or both."""
    exclusive: bool = False
    """At most one span of it, covering the whole text, and then no other span (an unintelligible translation)."""
    subcategories: list[Subcategory] = []
    examples: list[str] = []
    """Worked examples shown in the instructions and in prompts."""


class Severity(Named):
    """One level of the severity scale, mildest first in the list."""

    weight: float | None = None
    """Penalty of one such error in derived quality scores."""
