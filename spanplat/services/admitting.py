"""Letting people in: who may enter a campaign, and what is remembered of their earlier visits."""

import secrets
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from spanplat.errors import NotAllowed, say
from spanplat.models import Annotator, Assignment, Campaign, Participation
from spanplat.models.statements import add_absent
from spanplat.platforms.arrivals import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.annotators import add_annotator, find_annotator, find_or_add_annotator
from spanplat.services.claims import WAS_STOPPED
from spanplat.services.definitions import definition_of
from spanplat.services.pools import is_qualified

FINAL = ("failed_comprehension", "screened_out")
"""Ends that hold for the person, not for the one visit."""

_OF_SESSION = select(Participation).where(
    Participation.campaign_id == bindparam("campaign"), Participation.session_key == bindparam("key")
)


class Admission(NamedTuple):
    """How somebody was let in."""

    participation: Participation
    is_newcomer: bool
    """Whether the person was not known before this transaction: nothing is theirs yet, and no other request can act for them."""


def admit(session: Session, campaign: Campaign, arrival: Arrival, now: datetime) -> Admission:
    """Find the participation of an arrival; whoever comes for the first time gets one if the campaign is for them.

    Raises
    ------
    NotAllowed
        If the campaign is by invitation, or needs a qualification this person does not have.
    """
    participation = find_participation(session, campaign, arrival)
    if participation is not None:
        return Admission(participation, is_newcomer=False)
    known = find_annotator(session, arrival.source, arrival.person)
    newcomer = None if known else add_annotator(session, "human", arrival.source, arrival.person)
    annotator = known or newcomer or find_or_add_annotator(session, "human", arrival.source, arrival.person)
    _require_admission(session, definition_of(campaign), annotator, now)
    fresh = {
        "campaign_id": campaign.id,
        "annotator_id": annotator.id,
        "token": secrets.token_urlsafe(24),
        "session_key": arrival.session_key,
        "parameters": arrival.parameters,
        "created_at": now,
        **({} if newcomer else _remembered(session, campaign, annotator)),
    }
    added = add_absent(session, Participation, fresh)
    if added is None:  # a double click arrives twice at once
        return Admission(session.scalars(_OF_SESSION, _keys(campaign, arrival)).one(), is_newcomer=False)
    return Admission(added, is_newcomer=newcomer is not None)


def find_participation(session: Session, campaign: Campaign, arrival: Arrival) -> Participation | None:
    """Return the participation of an arrival that came before, in a reload or a second tab; None at the first time."""
    return session.scalar(_OF_SESSION, _keys(campaign, arrival))


def _keys(campaign: Campaign, arrival: Arrival) -> dict[str, Any]:
    return {"campaign": campaign.id, "key": arrival.session_key}


def _remembered(session: Session, campaign: Campaign, annotator: Annotator) -> dict[str, Any]:
    """Return what holds for a person in every visit: tries at the questions, passing them, practice, and having been stopped."""
    earlier = session.scalars(
        select(Participation)
        .where(Participation.campaign_id == campaign.id, Participation.annotator_id == annotator.id)
        .order_by(Participation.id.desc())
        .limit(1)
    ).first()
    if earlier is None:
        return {}
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
    """Give the person's other visits the tries made, and how they ended: tries are a person's, however many visits are open."""
    session.execute(
        update(Participation)
        .where(
            Participation.campaign_id == participation.campaign_id,
            Participation.annotator_id == participation.annotator_id,
            Participation.id != participation.id,
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
            say("this study is by invitation, and your id is not on the list; please return it on the platform")
        )
    required = definition.qualification_required
    if required is not None and not is_qualified(session, required, annotator, now):
        raise NotAllowed(say("this study is for people who passed its qualification; please return it on the platform"))
