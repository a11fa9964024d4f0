"""What a prompt study has found: of each variant its cost, its figures against the gold campaign, and how sure the difference is."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from spanplat.models import Campaign, Study
from spanplat.services.definitions import definition_of
from spanplat.services.leaderboard import LeaderboardOptions
from spanplat.services.model_runs.figures import RunFigures, run_figures
from spanplat.services.studies.defining import study_definition, variants_of

HEADLINES = ("char.hard", "char.soft", "gamma.hard", "gamma.soft")
"""Measures that the table of a study shows unless one asks for others."""


@dataclass(frozen=True)
class Variant:
    """One variant of a study, and how far it is."""

    name: str
    campaign: Campaign
    preset: str
    model: str
    run: RunFigures

    @property
    def promised(self) -> int:
        """Items there are to be asked about."""
        return self.run.answered + self.run.failed + self.run.left

    @property
    def done(self) -> int:
        """Items that are answered."""
        return self.run.answered

    @property
    def is_unfinished(self) -> bool:
        """Whether there is something left to ask."""
        return self.done < self.promised


@dataclass(frozen=True)
class Row:
    """One variant in the table of a study; figures are None where there are none yet."""

    variant: Variant
    entry: dict[str, Any] | None
    """Of the leaderboard: outputs, spans, figures by measure."""
    p_best: float | None
    """Of the paired permutation test against the best variant by the measure that orders the table; None for the best itself."""
    is_best: bool = False


def load_variants(session: Session, study: Study, now: datetime) -> list[Variant]:
    """Return the variants of a study in their order, with what their runs did."""
    found = []
    for name, campaign in variants_of(session, study).items():
        settings = definition_of(campaign).model
        preset = settings.preset if settings and settings.provider != "overlap" else ""
        model = (settings.model or settings.provider) if settings else ""
        found.append(Variant(name, campaign, preset, model, run_figures(session, campaign, now)))
    return found


def compared(study: Study, variants: list[Variant]) -> tuple[str, ...]:
    """Return the campaigns that the figures of a study are computed from: the gold one, and those with answers; none without gold."""
    gold = study_definition(study).gold
    answered = [variant.campaign.slug for variant in variants if variant.run.answered]
    return (gold, *answered) if gold is not None and answered else ()


def study_options(*, seed: int = 42, samples: int = 30, rule: str = "first") -> LeaderboardOptions:
    """Return how the variants are compared: all on the same outputs, so that the tests are paired."""
    return LeaderboardOptions(rule=rule, outputs="shared", seed=seed, samples=samples)


def study_rows(variants: list[Variant], board: dict[str, Any] | None, measure: str) -> list[Row]:
    """Put costs and figures side by side, the best variant first.

    Parameters
    ----------
    variants
        Of the study.
    board
        What `spanplat.services.leaderboard.compute_leaderboard` says of them; None before anything can be compared.
    measure
        Orders the rows, and is what the differences are tested on.
    """
    entries = {entry["campaign"]: place for place, entry in enumerate(board["entries"])} if board else {}

    def value(variant: Variant) -> float:
        place = entries.get(variant.campaign.slug)
        found = None if board is None or place is None else board["entries"][place]["figures"][measure]["value"]
        return float("-inf") if found is None else float(found)

    ordered = sorted(variants, key=lambda variant: -value(variant))
    best = entries.get(ordered[0].campaign.slug) if ordered else None
    rows = []
    for variant in ordered:
        place = entries.get(variant.campaign.slug)
        if board is None or place is None or best is None:
            rows.append(Row(variant, None, None))
        else:
            p_best = None if place == best else board["p_values"][measure][place][best]
            rows.append(Row(variant, board["entries"][place], p_best, is_best=place == best))
    return rows
