"""Entering a campaign: admission, consent, comprehension questions and the first seat."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session, joinedload

from spanplat.errors import InvalidInput, NotAllowed, NotFound, user_message
from spanplat.models import FINISHED, Annotator, Assignment, AssignmentStatus, Campaign, CampaignStatus, Participation
from spanplat.models.statements import add_absent
from spanplat.platforms.arrivals import read_arrival
from spanplat.platforms.departures import departure
from spanplat.platforms.platform import Arrival, Departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import add_annotator, definition_of, find_annotator, find_or_add_annotator
from spanplat.services.crowd.claims import (
    IS_GIVEN_UP,
    WAS_STOPPED,
    claim_first_seat,
    claim_next_seat,
    claim_seat,
    current_assignment,
    require_place,
)
from spanplat.services.crowd.leases import serve_one_at_a_time
from spanplat.services.crowd.pools import QualificationStanding, is_qualified, standing_of


class Stage(StrEnum):
    """Stage of a participation; each stage has its own page."""

    CONSENT = "consent"
    COMPREHENSION = "comprehension"
    PRACTICE = "practice"
    WORK = "work"
    DONE = "done"
    ENDED = "ended"
    """Ended without submission; `Participation.ended` holds the reason."""
    LAPSED = "lapsed"
    """The lease ran out and somebody else got the seat."""


OPEN_TO_PEOPLE = ("human", "qualification")
"""Kinds of campaigns that human annotators can enter."""
UNKNOWN_LINK = user_message("this link is not known; please go back to where you got it and open it again, in full")
SUBMITTED = (*FINISHED, AssignmentStatus.REJECTED)
"""States of a seat whose work was submitted, also of work that was rejected later."""
PERSONAL = "personal_link"
"""Parameter of a participation that can be entered by its personal link only, not by its name."""

_BY_TOKEN = (
    select(Participation)
    .where(Participation.token == bindparam("token"))
    .options(joinedload(Participation.campaign, innerjoin=True))
)
"""Built once, because every request of an annotator runs it."""
_OPEN_TO_PEOPLE = select(Campaign).where(Campaign.slug == bindparam("slug"), Campaign.kind.in_(OPEN_TO_PEOPLE))

Claim = Callable[[Session, Participation, datetime], Assignment]
"""Function that claims a seat."""


@dataclass(frozen=True)
class Visit:
    """Participation with everything that its pages show."""

    participation: Participation
    campaign: Campaign
    definition: CampaignDefinition
    assignment: Assignment | None
    stage: Stage
    standing: QualificationStanding | None = None
    """Result of a submitted qualification."""
    is_further_try: bool = False
    """Whether an earlier try at a qualification is submitted; leaving then ends only the current try."""
    left_a_try: bool = False
    """Whether the person left the last try, so that an earlier one counts."""
    stopped_try: Assignment | None = None
    """Seat of a further try that a check ended, so that an earlier one counts."""

    @property
    def may_try_again(self) -> bool:
        """Whether the person failed the qualification and has a try left."""
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
    """Return the campaign that a start link names; campaigns of models and imported campaigns are not found.

    Raises
    ------
    NotFound
        If there is none. The message lists no campaigns, because anybody may ask.
    """
    campaign = session.scalar(_OPEN_TO_PEOPLE, {"slug": slug})
    if campaign is None:
        raise NotFound(UNKNOWN_LINK)
    return campaign


def enter(session: Session, campaign: Campaign, arrival: Arrival, now: datetime) -> Visit:
    """Find or create the participation of an arrival, and claim a seat unless consent or questions come first.

    Raises
    ------
    NotAllowed
        If the campaign is by invitation or needs a qualification that this person does not have, or the name has a personal link.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    participation, is_newcomer = admit(session, campaign, arrival, now)
    # A stranger could guess the name and take over the work.
    if PERSONAL in participation.parameters:
        raise NotAllowed(user_message("this name has a personal link; please use the one that was sent"))
    # Skip the search for earlier seats: a newcomer has none. This keeps the server quick when a whole crowd arrives at once.
    if is_newcomer:
        return _with_seat(session, _visit_at(session, participation, None), now, claim_first_seat)
    return _with_seat(session, _visit(session, participation), now)


def invite(session: Session, campaign: Campaign, name: str, now: datetime) -> str:
    """Create the participation for a personal link and return its token; the same name gets the same link.

    Raises
    ------
    InvalidInput
        If the campaign's annotators come from a platform, or the name is empty.
    """
    settings = definition_of(campaign).platform
    if settings.profile.is_marketplace:
        raise InvalidInput(
            f"people come to {campaign.slug!r} from a platform ({settings.service}), which names them in its own links"
        )
    if not name.strip():
        raise InvalidInput("a personal link needs a name")
    arrival = read_arrival(settings, {"annotator": name})
    participation = admit(session, campaign, arrival, now).participation
    # A new dictionary, because SQLAlchemy does not notice changes inside the value of a JSON column.
    participation.parameters = {**participation.parameters, PERSONAL: "yes"}
    session.flush()
    return participation.token


def enter_by_invitation(session: Session, campaign: Campaign, token: str, now: datetime) -> Visit:
    """Claim a seat for a person who comes by a personal link.

    Raises
    ------
    NotFound
        If the link does not belong to the campaign.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    # The link names a campaign and a token; a token of another campaign must not open this one.
    if find_visit(session, token).campaign.id != campaign.id:
        raise NotFound(user_message("this link is not known; please ask for it again"))
    return take_seat(session, token, now)


def find_visit(session: Session, token: str) -> Visit:
    """Return the visit of a token.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    return _visit(session, _find_participation(session, token))


def find_alone(session: Session, token: str) -> Visit:
    """Return a visit and lock its person: their other requests wait until this transaction ends.

    Raises
    ------
    NotFound
        If the token is unknown.
    """
    participation = _find_participation(session, token)
    serve_one_at_a_time(session, participation.annotator_id)
    # The row was read before the lock; another request may have changed it while this one waited.
    session.refresh(participation)
    return _visit(session, participation)


def give_consent(session: Session, token: str, *, agreed: bool, now: datetime, version: str | None = None) -> Visit:
    """Record the decision on the consent form; a refusal ends the visit.

    A person can agree only to the version they have read. If the form changed after it was shown, the returned visit is still at
    stage ``consent``.

    Parameters
    ----------
    session
        A writing session.
    token
        The participation.
    agreed
        Whether the person agrees.
    now
        Time to store with the decision.
    version
        Version of the form that was shown; None means the current version.

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
    """Check the answers to the comprehension questions; the last failed attempt ends the participation.

    The stage of the returned visit shows the result: it is still ``comprehension`` if the answers were wrong and an attempt is left.

    Parameters
    ----------
    session
        A writing session.
    token
        The participation.
    answers
        Option keys by question key.
    now
        Time to store if the answers are right.
    attempt
        Number of this attempt, counted from 1, as the form sent it. An attempt that was already made changes nothing, so that a
        double click does not use up two attempts. None means the next attempt.

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
    """Claim or renew the seat of a visit that has passed consent and comprehension; before that, only check that a seat is free.

    Raises
    ------
    NotFound
        If the token is unknown.
    Conflict
        If there is no seat, or the campaign is not open.
    """
    return _with_seat(session, find_visit(session, token), now)


def try_again(session: Session, token: str, now: datetime) -> Visit:
    """Give a person who failed a qualification another seat on it, if a try is left.

    Raises
    ------
    Conflict
        If there is no seat.
    """
    visit = find_visit(session, token)
    # A double click is harmless: `claim_next_seat` returns the seat that the first click claimed.
    if visit.may_try_again:
        claim_next_seat(session, visit.participation, now)
    return _visit(session, visit.participation)


def way_back(visit: Visit) -> Departure:
    """Return the link back to the platform, with the completion code if one was earned."""
    platform, given = visit.definition.platform, visit.definition.qualification_given
    if visit.stage == Stage.DONE and visit.assignment is not None and visit.assignment.outcome is not None:
        outcome = visit.assignment.outcome
    elif visit.stage == Stage.ENDED and visit.participation.ended == "screened_out":
        outcome = "screened_out"
    elif visit.stage == Stage.ENDED and visit.participation.ended in ("no_consent", "withdrawn"):
        # A definition has no code of its own for withdrawing.
        outcome = "no_consent"
    else:
        return Departure()
    # A qualification may have codes of its own for passing and failing, in place of the code for completion.
    if given is not None and visit.standing is not None and outcome == "completed":
        earned = {"passed": given.pass_code, "failed": given.fail_code}.get(visit.standing.status)
        codes = platform.codes.model_copy(update={"completed": earned or platform.codes.completed})
        platform = platform.model_copy(update={"codes": codes})
    return departure(platform, outcome, visit.participation.parameters)


def verdict_of(visit: Visit) -> str:
    """Return the campaign's message about a passed or failed qualification (Markdown); empty in all other cases."""
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
    # Only qualifications have several tries. All other requests are spared the queries below.
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
    # Before consent: an amendment may add a consent form, and submitted work must not go back to it.
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
    # The seat is held during practice, so that nobody practises and then finds all places taken.
    if visit.stage in (Stage.PRACTICE, Stage.WORK, Stage.LAPSED):
        return _visit_at(session, visit.participation, claim(session, visit.participation, now))
    # Earlier, no seat is held, so that people who do not consent or fail the questions block no place.
    if visit.stage in (Stage.CONSENT, Stage.COMPREHENSION):
        require_place(session, visit.participation, now)
    return visit


FINAL = ("failed_comprehension", "screened_out")
"""Reasons for an end that apply to all visits of a person."""

_OF_SESSION = select(Participation).where(
    Participation.campaign_id == bindparam("campaign"), Participation.session_key == bindparam("key")
)


class Admission(NamedTuple):
    """Participation of a person who was let in."""

    participation: Participation
    is_newcomer: bool
    """Whether this transaction added the person. They have no seats yet, and no other request can act for them."""


def admit(session: Session, campaign: Campaign, arrival: Arrival, now: datetime) -> Admission:
    """Find the participation of an arrival, or create it if the campaign is open to this person.

    Raises
    ------
    NotAllowed
        If the campaign is by invitation, or needs a qualification that this person does not have.
    """
    # An arrival that was let in before stays in, also if the qualification has expired since.
    participation = find_participation(session, campaign, arrival)
    if participation is not None:
        return Admission(participation, is_newcomer=False)
    known = find_annotator(session, arrival.source, arrival.person)
    # `add_annotator` returns None if another request added the person just now; that person is no newcomer.
    newcomer = None if known else add_annotator(session, "human", arrival.source, arrival.person)
    annotator = known or newcomer or find_or_add_annotator(session, "human", arrival.source, arrival.person)
    # If the person is not let in, the error also rolls back the annotator that was just added.
    _require_admission(session, definition_of(campaign), annotator, now)
    fresh = {
        "campaign_id": campaign.id,
        "annotator_id": annotator.id,
        # Random and long, because the token is the only credential: a request with it acts as this annotator.
        "token": secrets.token_urlsafe(24),
        "session_key": arrival.session_key,
        "parameters": arrival.parameters,
        "created_at": now,
        **({} if newcomer else _remembered(session, campaign, annotator)),
    }
    added = add_absent(session, Participation, fresh)
    # A double click sends the same arrival twice at the same time.
    if added is None:
        return Admission(session.scalars(_OF_SESSION, _keys(campaign, arrival)).one(), is_newcomer=False)
    return Admission(added, is_newcomer=newcomer is not None)


def find_participation(session: Session, campaign: Campaign, arrival: Arrival) -> Participation | None:
    """Return the participation of an arrival that came before, as in a reload or a second tab; None for a new arrival."""
    return session.scalar(_OF_SESSION, _keys(campaign, arrival))


def _keys(campaign: Campaign, arrival: Arrival) -> dict[str, Any]:
    return {"campaign": campaign.id, "key": arrival.session_key}


def _remembered(session: Session, campaign: Campaign, annotator: Annotator) -> dict[str, Any]:
    """Return the values that a new visit takes over from the person's last one, so that a second link is no second chance.

    These are the attempts at the questions, passing them, practice, and an end that applies to the person.
    """
    earlier = session.scalars(
        select(Participation)
        .where(Participation.campaign_id == campaign.id, Participation.annotator_id == annotator.id)
        .order_by(Participation.id.desc())
        .limit(1)
    ).first()
    if earlier is None:
        return {}
    # A check may stop a further try at a qualification without ending the visit, so the seats are asked as well.
    stopped = session.scalar(
        select(Assignment.id)
        .where(Assignment.campaign_id == campaign.id, Assignment.annotator_id == annotator.id, WAS_STOPPED)
        .limit(1)
    )
    return {
        "comprehension_attempts": earlier.comprehension_attempts,
        "comprehension_passed_at": earlier.comprehension_passed_at,
        "practice": earlier.practice,
        "practised_at": earlier.practised_at,
        "ended": "screened_out" if stopped is not None else earlier.ended if earlier.ended in FINAL else None,
    }


def share_comprehension(session: Session, participation: Participation) -> None:
    """Copy the attempts made and their result to the person's other visits, because attempts count per person."""
    session.execute(
        update(Participation)
        .where(
            Participation.campaign_id == participation.campaign_id,
            Participation.annotator_id == participation.annotator_id,
            Participation.id != participation.id,
            # Visits that passed or ended have their own result, which stays.
            Participation.comprehension_passed_at.is_(None),
            Participation.ended.is_(None),
        )
        .values(
            comprehension_attempts=participation.comprehension_attempts,
            comprehension_passed_at=participation.comprehension_passed_at,
            ended=participation.ended,
        ),
        execution_options={"synchronize_session": False},
    )


def _require_admission(session: Session, definition: CampaignDefinition, annotator: Annotator, now: datetime) -> None:
    if definition.annotators.invited and annotator.external_id not in definition.annotators.invited:
        raise NotAllowed(
            user_message(
                "this study is by invitation, and your id is not on the list; please return it on the platform"
            )
        )
    required = definition.qualification_required
    if required is not None and not is_qualified(session, required, annotator, now):
        raise NotAllowed(
            user_message("this study is for people who passed its qualification; please return it on the platform")
        )
