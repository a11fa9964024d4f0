"""Report of a leaderboard."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from spanplat.services.background import OMITTED_WHEN_NONE, Report

OutputChoice = Literal["shared", "several", "own"]
"""Choice of compared outputs, see `spanplat.services.agreement.leaderboard.LeaderboardOptions`."""


@dataclass(frozen=True, kw_only=True)
class MeasuredFigure:
    """One figure with its 95 % interval."""

    value: float | None
    reason: str | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    """Reason why the figure is undefined."""
    low: float | None
    high: float | None
    outputs: int
    """Number of outputs behind the figure."""


@dataclass(frozen=True, kw_only=True)
class RankedFigure(MeasuredFigure):
    """One figure in a leaderboard. An undefined figure has no rank."""

    rank: int | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    cluster: int | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    """Rank of the cluster. Campaigns without a significant difference share it."""


@dataclass(frozen=True)
class Entry:
    """One campaign of a leaderboard."""

    campaign: str
    title: str
    outputs: int
    left_out: int
    """Number of outputs that the campaign completed and that are not compared."""
    spans: int
    figures: Mapping[str, RankedFigure]
    """Figures by measure."""
    by_category: Mapping[str, float]
    """Character F1 of each category."""


@dataclass(frozen=True)
class PeopleFigures:
    """Agreement among the reference's annotators."""

    outputs: int
    figures: Mapping[str, MeasuredFigure]
    """Figures by measure."""


@dataclass(frozen=True)
class ContrastExample:
    """Output on which one campaign is closer to the reference than the other, with the character F1 of both."""

    output: int
    scores: tuple[float, float]


@dataclass(frozen=True)
class Contrast:
    """Contrast of two campaigns."""

    entries: tuple[int, int]
    """Positions of the two campaigns in the list of entries."""
    better: tuple[int, int]
    """Number of outputs on which the first is closer to the reference, and on which the second is."""
    first: Sequence[ContrastExample]
    """Outputs on which the first campaign is much closer."""
    second: Sequence[ContrastExample]
    """Outputs on which the second campaign is much closer."""


@dataclass(frozen=True)
class LeaderboardReference:
    """Reference of a leaderboard."""

    campaign: str
    title: str
    rule: str


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Report):
    """Report on campaigns compared with one reference, by every measure."""

    reference: LeaderboardReference
    chosen: OutputChoice
    outputs: int | None
    """Number of compared outputs; None if each campaign has its own."""
    shared: int
    """Number of outputs that all campaigns completed."""
    entries: Sequence[Entry]
    contrasts: Sequence[Contrast]
    human: PeopleFigures | None
    p_values: Mapping[str, Sequence[Sequence[float | None]]]
    """Matrix of p-values between the entries, by measure."""
