"""Drafts of campaign definitions."""

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Moment, Now


class Draft(Base):
    """Draft of a definition. Only the text is stored. Forms are views of it."""

    __tablename__ = "draft"

    id: Mapped[Id]
    token: Mapped[str] = mapped_column(unique=True)
    """Name of the draft in addresses of pages."""
    text: Mapped[str] = mapped_column(Text)
    """YAML, which may be invalid."""
    revision: Mapped[int] = mapped_column(default=1)
    """Number of changes. If two people change a draft at the same time, the second one gets a warning."""
    editor: Mapped[str] = mapped_column(default="")
    """Open page that made the last change. Saves of the same page never conflict."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaign.id", ondelete="SET NULL"))
    """Campaign that was made from the draft."""
    created_at: Mapped[Now]
    changed_at: Mapped[Moment]
