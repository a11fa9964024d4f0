"""Who is to be paid what: the people of a campaign, how each visit ended, the bonus they earned, and the pay per hour it comes to.

These files, those of `spanplat.services.reviewing` and the list of a pool are where ids of platforms come out again; everything else
knows people by their pseudonyms.
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
from spanplat.platforms.rules import Money, hourly_pay, read_money
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.claims import IS_OUTDONE
from spanplat.services.definitions import definition_of


@dataclass(frozen=True)
class Person:
    """One visit of one person, as researchers see it; without ids of the platform."""

    participation_id: int
    pseudonym: str
    group: str | None
    outcome: str
    """``completed``, ``failed_attention``, ``screened_out``, ``no_consent``, ``withdrawn``, ``failed_comprehension``, ``working``,
    ``lapsed``, or ``entered`` before any work."""
    began_at: datetime
    minutes: float | None
    """From taking the last batch to submitting it."""
    checks: int
    passed: int
    failed: Sequence[str]
    """Names of the checks failed."""
    bonus: bool
    """Whether the promised bonus was earned: the batch is submitted as completed work that was not replaced, and no check that
    withholds the bonus was failed."""
    excluded: bool
    stands: bool = False
    """Whether the work is submitted and was not replaced."""


@dataclass(frozen=True)
class PayFigures:
    """What the work of a campaign takes and pays."""

    submitted: int
    median_minutes: float | None
    hourly: Money | None
    """What the reward makes in an hour at the median time."""
    bonuses: int


def list_people(session: Session, campaign: Campaign) -> list[Person]:
    """Return everybody who came, visit by visit, in the order they came.

    Of several tries at a qualification the last that was submitted counts, also while another is under way or after it lapsed: who
    has submitted has a claim to be paid.
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
    last = {participation.id: (participation, pseudonym, seat) for participation, pseudonym, seat in rows}
    return [_person(*entry, results, definition) for entry in last.values()]


def has_earned_bonus(session: Session, definition: CampaignDefinition, assignment: Assignment) -> bool | None:
    """Tell whether the work on a seat has earned the bonus; None where none is promised or the work does not stand."""
    if not definition.platform.bonus or assignment.status not in FINISHED:
        return None
    failed = session.scalars(
        select(CheckResult.name).where(CheckResult.assignment_id == assignment.id, CheckResult.passed.is_(False))
    )
    return _earns_bonus(definition, assignment.outcome, list(failed))


def pay_figures(campaign: Campaign, people: Sequence[Person]) -> PayFigures:
    """Tell how long the batches that everybody submitted took, and what the reward makes in an hour at the median."""
    minutes = [person.minutes for person in people if person.minutes is not None]
    middle = median(minutes) if minutes else None
    return PayFigures(
        sum(person.outcome in ("completed", "failed_attention") for person in people),
        middle,
        hourly_pay(definition_of(campaign).platform.reward, middle),
        sum(person.bonus for person in people),
    )


def pay_file(session: Session, campaign: Campaign) -> str:
    """Write everybody's platform id, submission, outcome, code and bonus as CSV; keep it like what it is, a list of people."""
    platform = definition_of(campaign).platform
    ids = platform_ids(session, campaign)
    bonus = read_money(platform.bonus)
    rows = [
        (
            *ids[person.participation_id],
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
    """Write the bonuses earned in the form the platform takes: for Prolific lines of id and amount, for MTurk four named columns."""
    platform = definition_of(campaign).platform
    bonus = read_money(platform.bonus)
    if bonus is None:
        return ""
    ids = platform_ids(session, campaign)
    earned = [ids[person.participation_id] for person in list_people(session, campaign) if person.bonus]
    amount = f"{bonus.amount:.2f}"
    if platform.service == "mturk":
        header = ("WorkerId", "AssignmentId", "BonusAmount", "Reason")
        reason = f"Bonus for {definition_of(campaign).title}"
        return write_csv([header, *((worker, submission, amount, reason) for worker, submission in earned)])
    return write_csv([(person, amount) for person, _submission in earned])


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
    return codes.get("no_consent" if outcome == "withdrawn" else outcome) or ""


def platform_ids(session: Session, campaign: Campaign) -> dict[int, tuple[str, str]]:
    """Return the platform's id of the person and of the submission, by participation."""
    platform = definition_of(campaign).platform
    names = {"prolific": "SESSION_ID", "mturk": "assignmentId", "other": platform.parameters.session}
    rows = session.execute(
        select(Participation.id, Annotator.external_id, Participation.parameters)
        .join(Annotator, Annotator.id == Participation.annotator_id)
        .where(Participation.campaign_id == campaign.id)
    )
    submission = names.get(platform.service, "")
    return {identifier: (person, str(parameters.get(submission, ""))) for identifier, person, parameters in rows}
