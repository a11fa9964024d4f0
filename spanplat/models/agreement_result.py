"""Stored results of computations."""

from typing import Any

from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now


class AgreementResult(Base):
    """One stage of a computed result. Its signature says how to compute the result again."""

    __tablename__ = "agreement_result"
    __table_args__ = (UniqueConstraint("signature", "stage"),)

    id: Mapped[Id]
    question: Mapped[str] = mapped_column(index=True)
    """Digest of the request without the state of the data. Results with the same question differ only in their data."""
    signature: Mapped[str]
    stage: Mapped[str]
    revisions: Mapped[dict[str, Any]]
    """Revisions of the campaigns' data, by slug."""
    value: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
