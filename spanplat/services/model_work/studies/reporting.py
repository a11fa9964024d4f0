"""Results of a prompt study: for each variant its cost, its figures against the gold campaign, and a test of the difference."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from spanplat.models import Campaign, Study
from spanplat.services.agreement import Entry, Leaderboard, LeaderboardOptions
from spanplat.services.campaigns import definition_of
from spanplat.services.model_work.figures import RunFigures, run_figures
from spanplat.services.model_work.studies.defining import study_definition, variants_of

HEADLINES = ("char.hard", "char.soft", "gamma.hard", "gamma.soft")
"""Measures that the table of a study shows by default."""


@dataclass(frozen=True)
class Variant:
    """One variant of a study, and its progress."""

    name: str
    campaign: Campaign
    preset: str
    model: str
    run: RunFigures

    @property
    def promised(self) -> int:
        """Number of items to ask about."""
        return self.run.answered + self.run.failed + self.run.left

    @property
    def done(self) -> int:
        """Number of answered items."""
        return self.run.answered

    @property
    def is_unfinished(self) -> bool:
        """Whether items are left to ask about."""
        return self.done < self.promised


@dataclass(frozen=True)
class VariantRow:
    """One variant in the table of a study. Figures that do not exist yet are None."""

    variant: Variant
    entry: Entry | None
    """Entry of the leaderboard: outputs, spans, figures by measure."""
    p_best: float | None
    """P-value of the paired permutation test against the best variant, on the measure that orders the table. None for the best one."""
    is_best: bool = False


def load_variants(session: Session, study: Study, now: datetime) -> list[Variant]:
    """Return the variants of a study in their order, with the figures of their runs."""
    found = []
    for name, campaign in variants_of(session, study).items():
        settings = definition_of(campaign).model
        preset = settings.preset if settings and not settings.is_offline else ""
        model = (settings.model or settings.provider) if settings else ""
        found.append(Variant(name, campaign, preset, model, run_figures(session, campaign, now)))
    return found


def compared(study: Study, variants: list[Variant]) -> tuple[str, ...]:
    """Return the campaigns to compare: the gold campaign and those with answers. Without a gold campaign, return none."""
    gold = study_definition(study).gold
    answered = [variant.campaign.slug for variant in variants if variant.run.answered]
    return (gold, *answered) if gold is not None and answered else ()


def study_options(*, seed: int = 42, samples: int = 30, rule: str = "first") -> LeaderboardOptions:
    """Return the options of the comparison. All variants are compared on the same outputs, so that the tests are paired."""
    return LeaderboardOptions(rule=rule, outputs="shared", seed=seed, samples=samples)


def study_rows(variants: list[Variant], board: Leaderboard | None, measure: str) -> list[VariantRow]:
    """Return costs and figures side by side, the best variant first.

    Parameters
    ----------
    variants
        Variants of the study.
    board
        Result of `spanplat.services.agreement.leaderboard.compute_leaderboard`. None before anything can be compared.
    measure
        Measure that orders the rows, and on which the differences are tested.
    """
    entries = {entry.campaign: place for place, entry in enumerate(board.entries)} if board else {}

    def value(variant: Variant) -> float:
        place = entries.get(variant.campaign.slug)
        found = None if board is None or place is None else board.entries[place].figures[measure].value
        # Variants without a figure come last.
        return float("-inf") if found is None else float(found)

    ordered = sorted(variants, key=lambda variant: -value(variant))
    best = entries.get(ordered[0].campaign.slug) if ordered else None
    rows = []
    for variant in ordered:
        place = entries.get(variant.campaign.slug)
        if board is None or place is None or best is None:
            rows.append(VariantRow(variant, None, None))
        else:
            # A variant is not tested against itself.
            p_best = None if place == best else board.p_values[measure][place][best]
            rows.append(VariantRow(variant, board.entries[place], p_best, is_best=place == best))
    return rows
