"""Entering a campaign: from a start link to consent, comprehension and the first item."""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import NotAllowed, NotFound
from spanplat.models import Annotator, Assignment, AssignmentStatus, Campaign, Participation, Qualification
from spanplat.models.statements import insert_absent
from spanplat.platforms.arrivals import Arrival
from spanplat.platforms.departures import Departure, departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.claims import claim_seat, current_assignment, return_seat
from spanplat.services.definitions import definition_of


class Stage(StrEnum):
    """Where a participation stands; each has its page."""

    CONSENT = "consent"
    COMPREHENSION = "comprehension"
    WORK = "work"
    DONE = "done"
    ENDED = "ended"
    """Ended without submission; `Participation.ended` says why."""
    LAPSED = "lapsed"
    """The seat went to somebody else."""


@dataclass(frozen=True)
class Visit:
    """A participation with what its pages need."""

    participation: Participation
    campaign: Campaign
    definition: CampaignDefinition
    assignment: Assignment | None
    stage: Stage


def enter(session: Session, campaign: Campaign, arrival: Arrival, now: datetime) -> Visit:
    """Make or find the participation of an arrival, and claim a seat when nothing stands before it.

    Raises
    ------
    NotAllowed
        If the campaign is by invitation or needs a qualification this person does not have.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    definition = definition_of(campaign)
    same_session = select(Participation).where(
        Participation.campaign_id == campaign.id, Participation.session_key == arrival.session_key
    )
    participation = session.scalar(same_session)
    if participation is None:
        annotator = find_or_add_annotator(session, "human", arrival.source, arrival.person)
        _require_admission(session, definition, annotator)
        fresh = {
            "campaign_id": campaign.id,
            "annotator_id": annotator.id,
            "token": secrets.token_urlsafe(24),
            "session_key": arrival.session_key,
            "parameters": arrival.parameters,
            "created_at": now,
        }
        insert_absent(session, Participation, [fresh])  # a double click arrives twice at once
        participation = session.scalars(same_session).one()
    visit = _visit(session, participation)
    return _with_seat(session, visit, now)


def find_visit(session: Session, token: str) -> Visit:
    """Return the visit a token stands for.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    participation = session.scalar(select(Participation).where(Participation.token == token))
    if participation is None:
        raise NotFound("this link is not known; please go back to where you got it and open it again, in full")
    return _visit(session, participation)


def give_consent(session: Session, token: str, *, agreed: bool, now: datetime) -> Visit:
    """Record the decision on the consent form; whoever declines has ended.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_visit(session, token)
    participation, consent = visit.participation, visit.definition.consent
    if visit.stage == Stage.CONSENT and consent is not None:
        if agreed:
            participation.consent_version, participation.consented_at = consent.version, now
        else:
            participation.ended = "no_consent"
        session.flush()
    return _with_seat(session, _visit(session, participation), now)


def answer_comprehension(session: Session, token: str, answers: Mapping[str, str], now: datetime) -> Visit:
    """Check the answers about the instructions; the last failed attempt ends the participation.

    The stage of the visit returned says how it went: still ``comprehension`` when an attempt is left.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_visit(session, token)
    participation, comprehension = visit.participation, visit.definition.comprehension
    if visit.stage == Stage.COMPREHENSION and comprehension is not None:
        right = all(
            answers.get(question.key)
            in {option.key for option in question.options if question.answer in (option.key, option.label)}
            for question in comprehension.questions
        )
        participation.comprehension_attempts += 1
        if right:
            participation.comprehension_passed_at = now
        elif participation.comprehension_attempts >= comprehension.attempts:
            participation.ended = "failed_comprehension"
        session.flush()
    return _with_seat(session, _visit(session, participation), now)


def withdraw(session: Session, token: str) -> Visit:
    """End a participation at the annotator's wish and give the seat back; the work so far stays out of every figure."""
    visit = find_visit(session, token)
    participation, assignment = visit.participation, visit.assignment
    if visit.stage in (Stage.CONSENT, Stage.COMPREHENSION, Stage.WORK):
        participation.ended = "withdrawn"
        session.flush()
        if assignment is not None:
            return_seat(session, assignment)
    return _visit(session, participation)


def way_back(visit: Visit) -> Departure:
    """Return where the annotator goes now, with the code earned; no code before one is earned."""
    if visit.stage == Stage.DONE and visit.assignment is not None and visit.assignment.outcome is not None:
        outcome = visit.assignment.outcome
    elif visit.stage == Stage.ENDED and visit.participation.ended in ("no_consent", "withdrawn"):
        outcome = "no_consent"
    else:
        return Departure()
    return departure(visit.definition.platform, outcome, visit.participation.parameters)


def find_or_add_annotator(session: Session, kind: str, source: str, external_id: str) -> Annotator:
    """Return the annotator with this id, adding them on their first visit."""
    named = select(Annotator).where(Annotator.source == source, Annotator.external_id == external_id)
    annotator = session.scalar(named)
    if annotator is None:
        fresh = {"kind": kind, "source": source, "external_id": external_id, "pseudonym": pseudonym_for(kind)}
        insert_absent(session, Annotator, [fresh])
        annotator = session.scalars(named).one()
    return annotator


def pseudonym_for(kind: str) -> str:
    """Make the name that stands for an annotator in exports; it cannot be traced back to the id."""
    return f"{'m' if kind == 'llm' else 'p'}-{hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:10]}"


def _require_admission(session: Session, definition: CampaignDefinition, annotator: Annotator) -> None:
    if definition.annotators.invited and annotator.external_id not in definition.annotators.invited:
        raise NotAllowed(
            "this study is by invitation, and your id is not on the list; please return it on the platform"
        )
    required = definition.qualification_required
    if required is None:
        return
    passed = session.scalar(
        select(Qualification.id)
        .join(Campaign, Campaign.id == Qualification.campaign_id)
        .where(
            Campaign.slug == required.campaign,
            Qualification.annotator_id == annotator.id,
            Qualification.status == "passed",
        )
    )
    if passed is None:
        raise NotAllowed("this study is for people who passed its qualification; please return it on the platform")


def _visit(session: Session, participation: Participation) -> Visit:
    campaign = participation.campaign
    definition = definition_of(campaign)
    assignment = current_assignment(session, participation)
    return Visit(participation, campaign, definition, assignment, _stage(participation, definition, assignment))


def _stage(participation: Participation, definition: CampaignDefinition, assignment: Assignment | None) -> Stage:
    if participation.ended is not None:
        return Stage.ENDED
    if assignment is not None and assignment.status in (
        AssignmentStatus.SUBMITTED,
        AssignmentStatus.ACCEPTED,
        AssignmentStatus.REJECTED,
    ):
        return Stage.DONE
    if definition.consent is not None and participation.consented_at is None:
        return Stage.CONSENT
    if definition.comprehension is not None and participation.comprehension_passed_at is None:
        return Stage.COMPREHENSION
    if assignment is not None and assignment.status in (AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED):
        return Stage.LAPSED
    return Stage.WORK


def _with_seat(session: Session, visit: Visit, now: datetime) -> Visit:
    if visit.stage in (Stage.WORK, Stage.LAPSED):
        claim_seat(session, visit.participation, now)
        return _visit(session, visit.participation)
    return visit
