"""Where a model's quotes went: how many by each rule, how many nowhere and why."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.models import COUNTED, Annotation, Assignment, Campaign, Span, Unplaced


@dataclass(frozen=True)
class Placements:
    """Counts of the quotes of a model campaign."""

    rules: dict[str, int]
    """Quotes placed, by the rule that placed them, most frequent first."""
    reasons: dict[str, int]
    """Quotes without a place, by reason, most frequent first."""

    @property
    def placed(self) -> int:
        """How many have a place."""
        return sum(self.rules.values())

    @property
    def unplaced(self) -> int:
        """How many have none."""
        return sum(self.reasons.values())

    @property
    def quotes(self) -> int:
        """All of them."""
        return self.placed + self.unplaced

    @property
    def unplaced_percent(self) -> float | None:
        """The share without a place; None where there are no quotes."""
        return 100 * self.unplaced / self.quotes if self.quotes else None


def count_placements(session: Session, campaign: Campaign) -> Placements:
    """Count a model campaign's quotes by the rule that placed them, and by the reason why they have no place."""
    number = func.count()
    rule = Span.origin["rule"].as_string()
    rules = session.execute(
        select(rule, number)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id, Assignment.status.in_(COUNTED))
        .group_by(rule)
        .order_by(number.desc(), rule)
    )
    reasons = session.execute(
        select(Unplaced.reason, number)
        .where(Unplaced.campaign_id == campaign.id, Unplaced.kind == "span")
        .group_by(Unplaced.reason)
        .order_by(number.desc(), Unplaced.reason)
    )
    return Placements({name or "unknown": count for name, count in rules}, {reason: count for reason, count in reasons})
