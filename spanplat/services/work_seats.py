"""The seat somebody works at, found with one statement: an annotator's page asks for one item after another."""

from typing import NamedTuple

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.errors import Gone, NotFound, say
from spanplat.models import Assignment, Campaign, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.claims import LATEST_FIRST
from spanplat.services.definitions import parsed_definition
from spanplat.services.participation import SUBMITTED, UNKNOWN_LINK

_SEAT = (
    select(
        Assignment.id,
        Assignment.status,
        Assignment.batch_id,
        Participation.ended,
        Participation.practised_at,
        Campaign.id.label("campaign_id"),
        Campaign.definition_sha256,
    )
    .join_from(Participation, Campaign, Campaign.id == Participation.campaign_id)
    .outerjoin(Assignment, Assignment.participation_id == Participation.id)
    .where(Participation.token == bindparam("token"))
    .order_by(*LATEST_FIRST)
    .limit(1)
)
_DEFINITION = select(Campaign.definition).where(
    Campaign.id == bindparam("campaign"), Campaign.definition_sha256 == bindparam("sha256")
)


class WorkSeat(NamedTuple):
    """A seat whose items may be seen and worked on."""

    id: int
    """Of the assignment."""
    batch_id: int
    definition: CampaignDefinition


def find_work_seat(session: Session, token: str) -> WorkSeat:
    """Return the seat that the holder of a token works at.

    One that lapsed is among them: its page is open, and what is saved there is kept.

    Raises
    ------
    NotFound
        If the token is unknown, or nothing was taken with it yet.
    Gone
        If the work was submitted or has ended.
    """
    connection = session.connection()
    row = connection.execute(_SEAT, {"token": token}).one_or_none()
    if row is None:
        raise NotFound(UNKNOWN_LINK)
    if row.ended is not None or row.status in SUBMITTED:
        raise Gone(say("this work was submitted or has ended"))
    named = {"campaign": row.campaign_id, "sha256": row.definition_sha256}
    definition = parsed_definition(row.definition_sha256, lambda: connection.execute(_DEFINITION, named).scalar_one())
    if row.id is None or (definition.practice and row.practised_at is None):
        raise NotFound(say("no batch was taken with this link yet; open the start link again"))
    return WorkSeat(row.id, row.batch_id, definition)
