"""Campaigns with their definitions, categories, items and batches."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now, Sha256
from spanplat.models.dataset import Output


class CampaignStatus(StrEnum):
    """Status of a campaign."""

    IMPORTING = "importing"
    """The import or creation is not finished. The campaign is invisible until then."""
    DRAFT = "draft"
    """Created, but not yet open to annotators."""
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class ItemRole(StrEnum):
    """Role of an item in a batch."""

    REGULAR = "regular"
    ATTENTION = "attention"
    GOLD = "gold"
    TUTORIAL = "tutorial"


class Campaign(Base):
    """Annotation campaign."""

    __tablename__ = "campaign"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str] = mapped_column(default=CampaignStatus.DRAFT)
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[Sha256]
    amendment: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of the amendment in force. 0 is the original definition."""
    imported_from: Mapped[dict[str, Any] | None]
    """Origin of an imported campaign: format, settings as received, report."""
    created_at: Mapped[Now]
    categories: Mapped[list["Category"]] = relationship(order_by="Category.position", back_populates="campaign")

    @property
    def is_half_made(self) -> bool:
        """Whether the campaign is being created, or its creation was interrupted. This is never true for an import."""
        return self.status == CampaignStatus.IMPORTING and self.imported_from is None


class Category(Base):
    """Category of spans in a campaign."""

    __tablename__ = "category"
    __table_args__ = (UniqueConstraint("campaign_id", "key"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    key: Mapped[str]
    name: Mapped[str]
    description: Mapped[str] = mapped_column(default="")
    color: Mapped[str]
    position: Mapped[int]
    campaign: Mapped[Campaign] = relationship(back_populates="categories")


class Item(Base):
    """Item: what an annotator works on in one step."""

    __tablename__ = "item"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(default="output")
    aspect: Mapped[str | None]
    outputs: Mapped[list["ItemOutput"]] = relationship(order_by="ItemOutput.position", back_populates="item")


class ItemOutput(Base):
    """Output of an item, with its position on the page."""

    __tablename__ = "item_output"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    output_id: Mapped[int] = mapped_column(ForeignKey("output.id"), index=True)
    item: Mapped[Item] = relationship(back_populates="outputs")
    output: Mapped[Output] = relationship()


class Batch(Base):
    """Batch of items that one annotator gets together."""

    __tablename__ = "batch"
    __table_args__ = (UniqueConstraint("campaign_id", "number"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    number: Mapped[int]
    campaign: Mapped[Campaign] = relationship()


class BatchItem(Base):
    """Item at a position in a batch."""

    __tablename__ = "batch_item"
    __table_args__ = (
        UniqueConstraint("batch_id", "item_id"),
        CheckConstraint("role IN ('regular', 'attention', 'gold', 'tutorial')", name="role"),
    )

    batch_id: Mapped[int] = mapped_column(ForeignKey("batch.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), index=True)
    role: Mapped[str] = mapped_column(default=ItemRole.REGULAR)
    check_name: Mapped[str | None]
    """Name of the check in the definition that uses this item."""
    item: Mapped[Item] = relationship()
