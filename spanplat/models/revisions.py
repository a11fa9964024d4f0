"""Revisions: short marks of the state of a campaign's data, and the change between two revisions."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, cast, func, select
from sqlalchemy.orm import Session

from spanplat.models import COUNTED, Annotation, Assignment, Campaign


@dataclass(frozen=True)
class Change:
    """Change of the data since some figures were computed."""

    added: int
    """Number of annotations that count now and did not count then."""
    removed: int
    """Number of annotations that counted then and do not count now, for instance because a check failed."""
    redefined: tuple[str, ...]
    """Campaigns with a changed definition."""


def counted() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on annotation and assignment under which an annotation counts in figures."""
    return (
        Annotation.status == "complete",
        Annotation.late.is_(False),
        Assignment.excluded.is_(False),
        Assignment.status.in_(COUNTED),
    )


def data_revision(session: Session, campaign: Campaign) -> str:
    """Return the revision of a campaign's data.

    It changes whenever a completed annotation is added, changed or removed, and with the definition. Its format is
    ``definition.annotations.saves.sum.newest``. ``sum`` is the sum of the ids, each multiplied by the annotation's number of saves. It
    changes even if one annotation replaces another.
    """
    # PostgreSQL multiplies integers in 32 bits and fails on overflow.
    saves = cast(Annotation.revision, BigInteger)
    count, revisions, weighted, newest = session.execute(
        select(func.count(Annotation.id), func.sum(saves), func.sum(saves * Annotation.id), func.max(Annotation.id))
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id, *counted())
    ).one()
    return f"{campaign.definition_sha256[:12]}.{count}.{revisions or 0}.{weighted or 0}.{newest or 0}"


def change_between(old: Mapping[str, str], new: Mapping[str, str]) -> Change:
    """Return the change between the revisions of some campaigns, by slug.

    Annotations that were saved again are in neither number.
    """
    grown = [_annotations(new[slug]) - _annotations(old[slug]) for slug in new if slug in old]
    return Change(
        added=sum(number for number in grown if number > 0),
        removed=-sum(number for number in grown if number < 0),
        redefined=tuple(slug for slug in new if slug in old and new[slug].split(".")[0] != old[slug].split(".")[0]),
    )


def _annotations(revision: str) -> int:
    return int(revision.split(".")[1])
