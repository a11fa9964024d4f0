"""Annotators: found by their id on the platform that they come from, and known by a pseudonym everywhere else."""

import hashlib
import secrets

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from spanplat.models import Annotator
from spanplat.models.statements import add_absent

_NAMED = select(Annotator).where(
    Annotator.source == bindparam("source"), Annotator.external_id == bindparam("external_id")
)


def find_annotator(session: Session, source: str, external_id: str) -> Annotator | None:
    """Return the annotator with this id, or None."""
    return session.scalar(_NAMED, {"source": source, "external_id": external_id})


def add_annotator(session: Session, kind: str, source: str, external_id: str) -> Annotator | None:
    """Add an annotator and return it; return None if there is already one with this id."""
    fresh = {"kind": kind, "source": source, "external_id": external_id, "pseudonym": pseudonym_for(kind)}
    return add_absent(session, Annotator, fresh)


def find_or_add_annotator(session: Session, kind: str, source: str, external_id: str) -> Annotator:
    """Return the annotator with this id; add it on the first visit."""
    # The last step finds the annotator that another request has added since the first step.
    return (
        find_annotator(session, source, external_id)
        or add_annotator(session, kind, source, external_id)
        or session.scalars(_NAMED, {"source": source, "external_id": external_id}).one()
    )


def pseudonym_for(kind: str) -> str:
    """Create the pseudonym of an annotator for exports; it is random, so it cannot be traced back to the id."""
    return f"{'m' if kind == 'llm' else 'p'}-{hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:10]}"
