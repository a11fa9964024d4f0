"""Entering a campaign: from a start link to consent, comprehension and the first item."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session, joinedload

from spanplat.errors import InvalidInput, NotAllowed, NotFound, say
from spanplat.models import FINISHED, Assignment, AssignmentStatus, Campaign, CampaignStatus, Participation
from spanplat.platforms.arrivals import Arrival, read_arrival
from spanplat.platforms.departures import Departure, departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.admitting import admit, share_comprehension
from spanplat.services.claims import (
    IS_GIVEN_UP,
    WAS_STOPPED,
    claim_first_seat,
    claim_next_seat,
    claim_seat,
    current_assignment,
    require_place,
)
from spanplat.services.definitions import definition_of
from spanplat.services.leases import serve_one_at_a_time
from spanplat.services.pools import Standing, standing_of


class Stage(StrEnum):
    """Where a participation stands; each has its page."""

    CONSENT = "consent"
    COMPREHENSION = "comprehension"
    PRACTICE = "practice"
    WORK = "work"
    DONE = "done"
    ENDED = "ended"
    """Ended without submission; `Participation.ended` says why."""
    LAPSED = "lapsed"
    """The seat went to somebody else."""


OPEN_TO_PEOPLE = ("human", "qualification")
"""Kinds of campaigns that people come to."""
UNKNOWN_LINK = say("this link is not known; please go back to where you got it and open it again, in full")
SUBMITTED = (*FINISHED, AssignmentStatus.REJECTED)
"""States of a seat whose work was submitted, whatever became of it."""
PERSONAL = "personal_link"
"""Among the parameters of a participation: only its own link leads to it, and not the name it was made for."""

_BY_TOKEN = (
    select(Participation)
    .where(Participation.token == bindparam("token"))
    .options(joinedload(Participation.campaign, innerjoin=True))
)
"""Built once, because every request of an annotator asks."""
_OPEN_TO_PEOPLE = select(Campaign).where(Campaign.slug == bindparam("slug"), Campaign.kind.in_(OPEN_TO_PEOPLE))

Claim = Callable[[Session, Participation, datetime], Assignment]
"""A way to get a seat."""


@dataclass(frozen=True)
class Visit:
    """A participation with what its pages need."""

    participation: Participation
    campaign: Campaign
    definition: CampaignDefinition
    assignment: Assignment | None
    stage: Stage
    standing: Standing | None = None
    """Of a submitted qualification: how it went."""
    is_further_try: bool = False
    """Whether an earlier try at a qualification is submitted; leaving then ends the try at hand alone."""
    left_a_try: bool = False
    """Whether the last try was left, so that an earlier one is what counts."""
    stopped_try: Assignment | None = None
    """Seat of a further try that a check ended, so that an earlier one is what counts."""

    @property
    def may_try_again(self) -> bool:
        """Whether the qualification was failed and a try is left."""
        given = self.definition.qualification_given
        standing = self.standing
        return (
            given is not None
            and standing is not None
            and standing.status == "failed"
            and standing.attempts < given.attempts
            and not (self.left_a_try or self.stopped_try)
            and self.campaign.status == CampaignStatus.OPEN
        )


def find_open_to_people(session: Session, slug: str) -> Campaign:
    """Return the campaign that a start link names; one that a model fills or that was imported is none of theirs.

    Raises
    ------
    NotFound
        If there is none; what campaigns there are is not said, because anybody may ask.
    """
    campaign = session.scalar(_OPEN_TO_PEOPLE, {"slug": slug})
    if campaign is None:
        raise NotFound(UNKNOWN_LINK)
    return campaign


def enter(session: Session, campaign: Campaign, arrival: Arrival, now: datetime) -> Visit:
    """Make or find the participation of an arrival, and claim a seat when nothing stands before it.

    Raises
    ------
    NotAllowed
        If the campaign is by invitation or needs a qualification this person does not have, or the name has a personal link.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    participation, is_newcomer = admit(session, campaign, arrival, now)
    if PERSONAL in participation.parameters:  # a name can be guessed
        raise NotAllowed(say("this name has a personal link; please use the one that was sent"))
    if is_newcomer:  # there is nothing of theirs to look for, in a crowd that arrives at once
        return _with_seat(session, _visit_at(session, participation, None), now, claim_first_seat)
    return _with_seat(session, _visit(session, participation), now)


def invite(session: Session, campaign: Campaign, name: str, now: datetime) -> str:
    """Make the participation that a personal link stands for and return its token; the same name gets the same link.

    Raises
    ------
    InvalidInput
        If the campaign's people come from a platform, or the name is empty.
    """
    service = definition_of(campaign).platform.service
    if service != "direct":
        raise InvalidInput(
            f"people come to {campaign.slug!r} from a platform ({service}), which names them in its own links"
        )
    if not name.strip():
        raise InvalidInput("a personal link needs a name")
    arrival = read_arrival(definition_of(campaign).platform, {"annotator": name})
    participation = admit(session, campaign, arrival, now).participation
    participation.parameters = {**participation.parameters, PERSONAL: "yes"}
    session.flush()
    return participation.token


def enter_by_invitation(session: Session, campaign: Campaign, token: str, now: datetime) -> Visit:
    """Claim a seat for whoever comes by a personal link.

    Raises
    ------
    NotFound
        If the link is not one of the campaign's.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    if find_visit(session, token).campaign.id != campaign.id:
        raise NotFound(say("this link is not known; please ask for it again"))
    return take_seat(session, token, now)


def find_visit(session: Session, token: str) -> Visit:
    """Return the visit a token stands for.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    return _visit(session, _find_participation(session, token))


def find_alone(session: Session, token: str) -> Visit:
    """Return a visit as it stands when the person's other requests are done; none comes between until the transaction ends.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    participation = _find_participation(session, token)
    serve_one_at_a_time(session, participation.annotator_id)
    session.refresh(participation)
    return _visit(session, participation)


def give_consent(session: Session, token: str, *, agreed: bool, now: datetime, version: str | None = None) -> Visit:
    """Record the decision on the consent form; whoever declines has ended.

    Nobody agrees to what they did not read: where the form has another version by now than the one that was shown, the visit returned
    is still at ``consent``.

    Parameters
    ----------
    session
        A writing session.
    token
        The participation.
    agreed
        The decision.
    now
        The time kept with it.
    version
        Version of the form that was shown; None stands for the one in force.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_alone(session, token)
    participation, consent = visit.participation, visit.definition.consent
    if visit.stage == Stage.CONSENT and consent is not None:
        if agreed and version not in (None, consent.version):
            return visit
        if agreed:
            participation.consent_version, participation.consented_at = consent.version, now
        else:
            participation.ended = "no_consent"
        session.flush()
    return _with_seat(session, _visit(session, participation), now)


def answer_comprehension(
    session: Session, token: str, answers: Mapping[str, str], now: datetime, *, attempt: int | None = None
) -> Visit:
    """Check the answers about the instructions; the last failed attempt ends the participation.

    The stage of the visit returned says how it went: still ``comprehension`` when an attempt is left.

    Parameters
    ----------
    session
        A writing session.
    token
        The participation.
    answers
        Keys of options by key of the question.
    now
        When the questions count as passed, if they are.
    attempt
        Which attempt this is, counted from 1, as the form says; one that was made already changes nothing, so that a double click
        costs none. None stands for the next.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_alone(session, token)
    participation, comprehension = visit.participation, visit.definition.comprehension
    made = participation.comprehension_attempts
    if visit.stage == Stage.COMPREHENSION and comprehension is not None and attempt in (None, made + 1):
        participation.comprehension_attempts = made + 1
        if comprehension.is_passed_by(answers):
            participation.comprehension_passed_at = now
        elif participation.comprehension_attempts >= comprehension.attempts:
            participation.ended = "failed_comprehension"
        session.flush()
        share_comprehension(session, participation)
    return _with_seat(session, _visit(session, participation), now)


def take_seat(session: Session, token: str, now: datetime) -> Visit:
    """Claim the seat of a visit that has consented and understood, or hold it on; before that, make sure that there is one.

    Raises
    ------
    NotFound
        If the token is unknown.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    return _with_seat(session, find_visit(session, token), now)


def try_again(session: Session, token: str, now: datetime) -> Visit:
    """Give somebody who failed a qualification another seat on it, as long as a try is left.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_visit(session, token)
    if visit.may_try_again:
        claim_next_seat(session, visit.participation, now)
    return _visit(session, visit.participation)


def way_back(visit: Visit) -> Departure:
    """Return where the annotator goes now, with the code earned; no code before one is earned."""
    platform, given = visit.definition.platform, visit.definition.qualification_given
    if visit.stage == Stage.DONE and visit.assignment is not None and visit.assignment.outcome is not None:
        outcome = visit.assignment.outcome
    elif visit.stage == Stage.ENDED and visit.participation.ended == "screened_out":
        outcome = "screened_out"
    elif visit.stage == Stage.ENDED and visit.participation.ended in ("no_consent", "withdrawn"):
        outcome = "no_consent"
    else:
        return Departure()
    if given is not None and visit.standing is not None and outcome == "completed":
        earned = {"passed": given.pass_code, "failed": given.fail_code}.get(visit.standing.status)
        codes = platform.codes.model_copy(update={"completed": earned or platform.codes.completed})
        platform = platform.model_copy(update={"codes": codes})
    return departure(platform, outcome, visit.participation.parameters)


def verdict_of(visit: Visit) -> str:
    """Return what the campaign says to those who passed or failed its qualification (Markdown); empty elsewhere."""
    given, standing = visit.definition.qualification_given, visit.standing
    if given is None or standing is None:
        return ""
    return {"passed": given.pass_message, "failed": given.fail_message}.get(standing.status, "")


def _find_participation(session: Session, token: str) -> Participation:
    participation = session.scalar(_BY_TOKEN, {"token": token})
    if participation is None:
        raise NotFound(UNKNOWN_LINK)
    return participation


def _visit(session: Session, participation: Participation) -> Visit:
    return _visit_at(session, participation, current_assignment(session, participation))


def _visit_at(session: Session, participation: Participation, assignment: Assignment | None) -> Visit:
    campaign = participation.campaign
    definition = definition_of(campaign)
    stage = _stage(participation, definition, assignment)
    visit = Visit(participation, campaign, definition, assignment, stage)
    if campaign.kind != "qualification" or stage not in (Stage.WORK, Stage.LAPSED, Stage.DONE):
        return visit
    tries = select(Assignment.id).where(Assignment.participation_id == participation.id).limit(1)
    if stage == Stage.DONE:
        standing = standing_of(session, campaign.id, participation.annotator_id)
        return replace(
            visit,
            standing=standing,
            left_a_try=session.scalar(tries.where(IS_GIVEN_UP)) is not None,
            stopped_try=session.scalar(
                select(Assignment).where(Assignment.participation_id == participation.id, WAS_STOPPED).limit(1)
            ),
        )
    return replace(visit, is_further_try=session.scalar(tries.where(Assignment.status.in_(SUBMITTED))) is not None)


def _stage(participation: Participation, definition: CampaignDefinition, assignment: Assignment | None) -> Stage:
    if participation.ended is not None:
        return Stage.ENDED
    if assignment is not None and assignment.status in SUBMITTED:
        return Stage.DONE
    if definition.consent is not None and participation.consented_at is None:
        return Stage.CONSENT
    if definition.comprehension is not None and participation.comprehension_passed_at is None:
        return Stage.COMPREHENSION
    if definition.practice and participation.practised_at is None:
        return Stage.PRACTICE
    if assignment is not None and assignment.status in (AssignmentStatus.EXPIRED, AssignmentStatus.RETURNED):
        return Stage.LAPSED
    return Stage.WORK


def _with_seat(session: Session, visit: Visit, now: datetime, claim: Claim = claim_seat) -> Visit:
    if visit.stage in (Stage.PRACTICE, Stage.WORK, Stage.LAPSED):
        return _visit_at(session, visit.participation, claim(session, visit.participation, now))
    if visit.stage in (Stage.CONSENT, Stage.COMPREHENSION):
        require_place(session, visit.participation, now)
    return visit
