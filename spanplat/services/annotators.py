"""Who annotates: found by the id of the platform they come from, and known by a pseudonym everywhere else."""

import hashlib
import secrets

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.models import Annotator
from spanplat.models.statements import add_absent


def find_or_add_annotator(session: Session, kind: str, source: str, external_id: str) -> Annotator:
    """Return the annotator with this id, adding them on their first visit."""
    named = select(Annotator).where(Annotator.source == source, Annotator.external_id == external_id)
    annotator = session.scalar(named)
    if annotator is None:
        fresh = {"kind": kind, "source": source, "external_id": external_id, "pseudonym": pseudonym_for(kind)}
        annotator = add_absent(session, Annotator, fresh) or session.scalars(named).one()
    return annotator


def pseudonym_for(kind: str) -> str:
    """Make the name that stands for an annotator in exports; it cannot be traced back to the id."""
    return f"{'m' if kind == 'llm' else 'p'}-{hashlib.sha256(secrets.token_bytes(16)).hexdigest()[:10]}"
