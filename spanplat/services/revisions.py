"""The state of a campaign's data as a short mark: figures name it, and what has changed between two marks can be told."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import BigInteger, ColumnElement, cast, func, select
from sqlalchemy.orm import Session

from spanplat.models import COUNTED, Annotation, Assignment, Campaign


@dataclass(frozen=True)
class Change:
    """What has happened to the data since some figures were computed."""

    added: int
    """Annotations that count now and did not then."""
    removed: int
    """Annotations that counted then and do not now, for instance because a check failed."""
    redefined: tuple[str, ...]
    """Campaigns whose definition is another one."""


def counted() -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on annotation and assignment under which an annotation counts in figures."""
    return (
        Annotation.status == "complete",
        Annotation.late.is_(False),
        Assignment.excluded.is_(False),
        Assignment.status.in_(COUNTED),
    )


def data_revision(session: Session, campaign: Campaign) -> str:
    """Return a mark that changes whenever a completed annotation is added, changed or taken out, and with the definition.

    It reads ``definition.annotations.saves.sum.newest``; the sum of all ids, each as often as its annotation was saved, differs
    even when one annotation takes the place of another.
    """
    saves = cast(Annotation.revision, BigInteger)
    count, revisions, weighted, newest = session.execute(
        select(func.count(Annotation.id), func.sum(saves), func.sum(saves * Annotation.id), func.max(Annotation.id))
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign.id, *counted())
    ).one()
    return f"{campaign.definition_sha256[:12]}.{count}.{revisions or 0}.{weighted or 0}.{newest or 0}"


def change_between(old: Mapping[str, str], new: Mapping[str, str]) -> Change:
    """Tell what changed between the revisions of some campaigns, by slug.

    Annotations that were saved again are in neither number: only their being different shows.
    """
    grown = [_annotations(new[slug]) - _annotations(old[slug]) for slug in new if slug in old]
    return Change(
        added=sum(number for number in grown if number > 0),
        removed=-sum(number for number in grown if number < 0),
        redefined=tuple(slug for slug in new if slug in old and new[slug].split(".")[0] != old[slug].split(".")[0]),
    )


def _annotations(revision: str) -> int:
    return int(revision.split(".")[1])
