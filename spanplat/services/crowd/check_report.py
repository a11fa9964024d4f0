"""Report of a campaign's checks, by check, by kind and by group."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.metrics.proportions import difference_of_shares
from spanplat.models import Annotator, Assignment, Batch, Campaign, CheckResult
from spanplat.schemas.checks import CHECK_KINDS
from spanplat.services.campaigns import definition_of

PARTS = {kind.kind(): tuple(kind.parts) for kind in CHECK_KINDS}
"""Parts of a check that the report counts separately, by kind of check."""


@dataclass(frozen=True)
class CheckFigures:
    """Pass counts of one check, or of all checks of one kind."""

    name: str
    kind: str
    on_fail: str
    """Consequence of failing; empty for a check that the definition does not name, as in an import."""
    results: int
    passed: int
    parts: dict[str, int]
    """Number of results in which each part was right, for instance ``region_marked`` and ``category_right``."""
    mean_score: float | None
    """Mean score of gold items."""

    @property
    def rate(self) -> float:
        """Share of results that passed."""
        return self.passed / self.results


@dataclass(frozen=True)
class CheckReport:
    """Results of a campaign's checks and their consequences."""

    checks: Sequence[CheckFigures]
    kinds: Sequence[CheckFigures]
    """Figures by kind, over all checks of the kind."""
    excluded: int
    """Number of batches left out of every figure."""
    screened_out: int
    """Number of people screened out."""
    by_group: dict[str, dict[str, tuple[int, int]]]
    """Results and passes by group and kind; empty without groups."""
    group_differences: dict[str, float | None]
    """P-value of the difference between the groups' pass rates, by kind; empty without groups."""


@dataclass(frozen=True)
class ScreenedOut:
    """Person who was screened out, with the failed checks."""

    pseudonym: str
    batch: int
    """Number of the batch in which it happened."""
    failed: Sequence[str]
    """Names of the failed checks that screen out."""
    began_at: datetime | None
    """Time at which they got the batch."""


def report_checks(session: Session, campaign: Campaign) -> CheckReport:
    """Count the results of each check of a campaign over all submitted, current and screened-out work."""
    rows = session.execute(
        select(CheckResult, Assignment.group)
        .join(Assignment, Assignment.id == CheckResult.assignment_id)
        .where(Assignment.campaign_id == campaign.id)
        .order_by(CheckResult.id)
    ).all()
    on_fail = {check.name: check.on_fail for check in definition_of(campaign).checks}
    by_name: dict[tuple[str, str], list[CheckResult]] = defaultdict(list)
    by_kind: dict[str, list[CheckResult]] = defaultdict(list)
    by_group: dict[str, dict[str, tuple[int, int]]] = defaultdict(dict)
    for result, group in rows:
        by_name[result.name, result.kind].append(result)
        by_kind[result.kind].append(result)
        if group is not None:
            results, passed = by_group[group].get(result.kind, (0, 0))
            by_group[group][result.kind] = results + 1, passed + result.passed
    excluded = select(func.count()).select_from(Assignment).where(Assignment.excluded)
    screened = select(func.count(Assignment.annotator_id.distinct())).where(Assignment.outcome == "screened_out")
    return CheckReport(
        [_figures(name, kind, on_fail.get(name, ""), results) for (name, kind), results in sorted(by_name.items())],
        [_figures(kind, kind, "", results) for kind, results in sorted(by_kind.items())],
        session.scalar(excluded.where(Assignment.campaign_id == campaign.id)) or 0,
        session.scalar(screened.where(Assignment.campaign_id == campaign.id)) or 0,
        dict(by_group),
        _differences(by_group),
    )


def _differences(by_group: Mapping[str, Mapping[str, tuple[int, int]]]) -> dict[str, float | None]:
    kinds = sorted({kind for kinds in by_group.values() for kind in kinds})
    return {
        kind: difference_of_shares([kinds.get(kind, (0, 0)) for _group, kinds in sorted(by_group.items())])
        for kind in kinds
    }


def list_screened_out(session: Session, campaign: Campaign) -> list[ScreenedOut]:
    """Return the people who were screened out, oldest seat first, with the checks that they failed."""
    names = [check.name for check in definition_of(campaign).checks if check.on_fail == "screen_out"]
    failed: dict[int, list[str]] = defaultdict(list)
    for assignment_id, name in session.execute(
        select(CheckResult.assignment_id, CheckResult.name)
        .join(Assignment, Assignment.id == CheckResult.assignment_id)
        .where(Assignment.campaign_id == campaign.id, CheckResult.name.in_(names), CheckResult.passed.is_(False))
        # A check that applies to every item can fail several times on one seat.
        .distinct()
        .order_by(CheckResult.name)
    ):
        failed[assignment_id].append(name)
    rows = session.execute(
        select(Annotator.pseudonym, Batch.number, Assignment.id, Assignment.claimed_at)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Batch, Batch.id == Assignment.batch_id)
        .where(Assignment.campaign_id == campaign.id, Assignment.outcome == "screened_out")
        .order_by(Assignment.id)
    )
    return [ScreenedOut(pseudonym, batch, failed[seat], began_at) for pseudonym, batch, seat, began_at in rows]


def _figures(name: str, kind: str, on_fail: str, results: Sequence[CheckResult]) -> CheckFigures:
    details: list[dict[str, Any]] = [result.detail or {} for result in results]
    scores = [detail["score"] for detail in details if detail.get("score") is not None]
    return CheckFigures(
        name,
        kind,
        on_fail,
        len(results),
        sum(result.passed for result in results),
        {part: sum(bool(detail.get(part)) for detail in details) for part in PARTS.get(kind, ())},
        sum(scores) / len(scores) if scores else None,
    )
