"""Pay of a campaign's people: the outcome of each visit, the bonuses earned, and the pay per hour.

Platform ids leave the database only in these files, in those of `spanplat.services.crowd.reviewing` and in the list of a pool.
Everything else names people by their pseudonyms.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.formats.spreadsheets import write_csv
from spanplat.models import (
    FINISHED,
    REPLACED,
    Annotator,
    Assignment,
    AssignmentStatus,
    Campaign,
    CheckResult,
    Participation,
)
from spanplat.platforms.platform import PlatformIds
from spanplat.platforms.rules import Money, hourly_pay, read_money
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import definition_of
from spanplat.services.crowd.claims import IS_OUTDONE


@dataclass(frozen=True)
class Person:
    """One visit of one person, as researchers see it, without platform ids."""

    participation_id: int
    pseudonym: str
    group: str | None
    outcome: str
    """``completed``, ``failed_attention``, ``screened_out``, ``no_consent``, ``withdrawn``, ``failed_comprehension``, ``working``,
    ``lapsed``, or ``entered`` before any work."""
    began_at: datetime
    minutes: float | None
    """Minutes between claiming the last batch and submitting it."""
    checks: int
    passed: int
    failed: Sequence[str]
    """Names of the failed checks."""
    bonus: bool
    """Whether the person earned the promised bonus: the batch is submitted as completed, the work was not replaced, and no check that
    withholds the bonus failed."""
    excluded: bool
    stands: bool = False
    """Whether the work is submitted and was not replaced."""


@dataclass(frozen=True)
class PayFigures:
    """Time and pay of a campaign's work."""

    submitted: int
    median_minutes: float | None
    hourly: Money | None
    """Pay per hour at the median time."""
    bonuses: int


def list_people(session: Session, campaign: Campaign) -> list[Person]:
    """Return all visits of a campaign in the order in which people came.

    Of several tries at a qualification the last submitted one counts, even if a later try is under way or has lapsed: submitted work
    must be paid.
    """
    definition = definition_of(campaign)
    results: dict[int, list[tuple[str, bool]]] = defaultdict(list)
    for assignment_id, name, passed in session.execute(
        select(CheckResult.assignment_id, CheckResult.name, CheckResult.passed)
        .join(Assignment, Assignment.id == CheckResult.assignment_id)
        .where(Assignment.campaign_id == campaign.id)
    ):
        results[assignment_id].append((name, passed))
    rows = session.execute(
        select(Participation, Annotator.pseudonym, Assignment)
        .join(Annotator, Annotator.id == Participation.annotator_id)
        .outerjoin(Assignment, Assignment.participation_id == Participation.id)
        .where(Participation.campaign_id == campaign.id)
        .order_by(
            Participation.id,
            Assignment.submitted_at.is_not(None),
            IS_OUTDONE.desc(),
            Assignment.claimed_at,
            Assignment.id,
        )
    )
    # Later rows overwrite earlier ones, so that the seat that counts comes last in the order above.
    last = {participation.id: (participation, pseudonym, seat) for participation, pseudonym, seat in rows}
    return [_person(*entry, results, definition) for entry in last.values()]


def has_earned_bonus(session: Session, definition: CampaignDefinition, assignment: Assignment) -> bool | None:
    """Return whether the work on a seat earned the bonus; None if no bonus is promised or the work is not submitted."""
    if not definition.platform.bonus or assignment.status not in FINISHED:
        return None
    failed = session.scalars(
        select(CheckResult.name).where(CheckResult.assignment_id == assignment.id, CheckResult.passed.is_(False))
    )
    return _earns_bonus(definition, assignment.outcome, list(failed))


def pay_figures(campaign: Campaign, people: Sequence[Person]) -> PayFigures:
    """Compute the median time of the submitted batches, and the pay per hour at this median."""
    # The median, because a few people who leave the page open for hours would shift a mean.
    minutes = [person.minutes for person in people if person.minutes is not None]
    middle = median(minutes) if minutes else None
    return PayFigures(
        sum(person.outcome in ("completed", "failed_attention") for person in people),
        middle,
        hourly_pay(definition_of(campaign).platform.reward, middle),
        sum(person.bonus for person in people),
    )


def pay_file(session: Session, campaign: Campaign) -> str:
    """Write the platform id, submission, outcome, code and bonus of each visit as CSV; the file is personal data."""
    platform = definition_of(campaign).platform
    ids = platform_ids(session, campaign)
    bonus = read_money(platform.bonus)
    rows = [
        (
            ids[person.participation_id].person,
            ids[person.participation_id].submission,
            person.pseudonym,
            person.outcome,
            _code(platform.codes.model_dump(), person.outcome),
            f"{bonus.amount:.2f}" if bonus is not None and person.bonus else "",
            "" if person.minutes is None else f"{person.minutes:.1f}",
            " ".join(person.failed),
        )
        for person in list_people(session, campaign)
    ]
    header = ("platform_id", "submission", "annotator", "outcome", "code", "bonus", "minutes", "failed_checks")
    return write_csv([header, *rows])


def bonus_file(session: Session, campaign: Campaign) -> str:
    """Write the earned bonuses in the format of the platform."""
    platform = definition_of(campaign).platform
    bonus = read_money(platform.bonus)
    if bonus is None:
        return ""
    ids = platform_ids(session, campaign)
    earned = [ids[person.participation_id] for person in list_people(session, campaign) if person.bonus]
    amount = f"{bonus.amount:.2f}"
    return write_csv(platform.profile.bonuses(earned, amount, f"Bonus for {definition_of(campaign).title}"))


def _person(
    participation: Participation,
    pseudonym: str,
    seat: Assignment | None,
    results: dict[int, list[tuple[str, bool]]],
    definition: CampaignDefinition,
) -> Person:
    checks = results[seat.id] if seat is not None else []
    failed = sorted({name for name, passed in checks if not passed})
    submitted = seat is not None and seat.submitted_at is not None
    minutes = None
    if seat is not None and seat.submitted_at is not None and seat.claimed_at is not None:
        minutes = (seat.submitted_at - seat.claimed_at).total_seconds() / 60
    return Person(
        participation.id,
        pseudonym,
        participation.group,
        _outcome(participation, seat),
        participation.created_at,
        minutes,
        len(checks),
        sum(passed for _name, passed in checks),
        failed,
        seat is not None and seat.status in FINISHED and _earns_bonus(definition, seat.outcome, failed),
        # Only submitted work can be replaced. A seat that was given back or has lapsed shows in the outcome.
        seat is not None and (seat.excluded or (submitted and seat.status in REPLACED)),
        seat is not None and seat.status in FINISHED,
    )


def _earns_bonus(definition: CampaignDefinition, outcome: str | None, failed: Collection[str]) -> bool:
    withholding = {check.name for check in definition.checks if check.on_fail == "withhold_bonus"}
    return bool(definition.platform.bonus) and outcome != "failed_attention" and withholding.isdisjoint(failed)


def _outcome(participation: Participation, seat: Assignment | None) -> str:
    if participation.ended is not None:
        return participation.ended
    if seat is None:
        return "entered"
    if seat.submitted_at is not None:
        return seat.outcome or "completed"
    return "working" if seat.status == AssignmentStatus.HELD else "lapsed"


def _code(codes: dict[str, str | None], outcome: str) -> str:
    # A definition has no code of its own for withdrawing.
    return codes.get("no_consent" if outcome == "withdrawn" else outcome) or ""


def platform_ids(session: Session, campaign: Campaign) -> dict[int, PlatformIds]:
    """Return the platform's ids of each visit by participation id."""
    settings = definition_of(campaign).platform
    rows = session.execute(
        select(Participation.id, Annotator.external_id, Participation.parameters)
        .join(Annotator, Annotator.id == Participation.annotator_id)
        .where(Participation.campaign_id == campaign.id)
    )
    return {
        identifier: settings.profile.ids(person, parameters, settings.parameter_names)
        for identifier, person, parameters in rows
    }
