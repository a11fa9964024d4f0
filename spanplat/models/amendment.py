"""Amendments: dated changes of a campaign's definition."""

from typing import Any

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class Amendment(Base):
    """Definition from a point in time on. Number 0 is the original definition, which is stored at the first change."""

    __tablename__ = "amendment"
    __table_args__ = (UniqueConstraint("campaign_id", "number"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    number: Mapped[int]
    at: Mapped[Now]
    actor: Mapped[str]
    """Author of the change, as in the audit log."""
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[Sha256]
    note: Mapped[str]
    """Reason for the change."""
