"""Campaign definitions that are being written."""

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Moment, Now


class Draft(Base):
    """A definition in the making; the text is the only truth, forms are views of it."""

    __tablename__ = "draft"

    id: Mapped[Id]
    token: Mapped[str] = mapped_column(unique=True)
    """Names it in addresses."""
    text: Mapped[str] = mapped_column(Text)
    """YAML, valid or not."""
    revision: Mapped[int] = mapped_column(default=1)
    """Counts its changes, so that of two people who change it at once the second is told."""
    editor: Mapped[str] = mapped_column(default="")
    """The opened page that changed it last; its own saves never contradict each other."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaign.id", ondelete="SET NULL"))
    """The campaign made of it."""
    created_at: Mapped[Now]
    changed_at: Mapped[Moment]
