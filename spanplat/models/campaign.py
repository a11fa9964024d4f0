"""Campaigns: their definition, categories, items and batches."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now, Sha256
from spanplat.models.dataset import Output


class CampaignStatus(StrEnum):
    """What may happen in a campaign."""

    IMPORTING = "importing"
    """Being imported; invisible until the last record is in."""
    DRAFT = "draft"
    """Created, not yet open to annotators."""
    OPEN = "open"
    PAUSED = "paused"
    CLOSED = "closed"


class ItemRole(StrEnum):
    """Why an item stands in a batch."""

    REGULAR = "regular"
    ATTENTION = "attention"
    GOLD = "gold"
    TUTORIAL = "tutorial"


class Campaign(Base):
    """One annotation effort."""

    __tablename__ = "campaign"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str] = mapped_column(default=CampaignStatus.DRAFT)
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[Sha256]
    amendment: Mapped[int] = mapped_column(default=0, server_default="0")
    """Number of the amendment in force; 0 while the definition is the one the campaign was made with."""
    imported_from: Mapped[dict[str, Any] | None]
    """What an imported campaign was read from: format, settings as received, report."""
    created_at: Mapped[Now]
    categories: Mapped[list["Category"]] = relationship(order_by="Category.position", back_populates="campaign")


class Category(Base):
    """A label of a campaign."""

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
    """What one annotator is asked about at once."""

    __tablename__ = "item"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(default="output")
    aspect: Mapped[str | None]
    outputs: Mapped[list["ItemOutput"]] = relationship(order_by="ItemOutput.position", back_populates="item")


class ItemOutput(Base):
    """An output of an item, in the order shown."""

    __tablename__ = "item_output"

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    output_id: Mapped[int] = mapped_column(ForeignKey("output.id"), index=True)
    item: Mapped[Item] = relationship(back_populates="outputs")
    output: Mapped[Output] = relationship()


class Batch(Base):
    """Items that one annotator gets together."""

    __tablename__ = "batch"
    __table_args__ = (UniqueConstraint("campaign_id", "number"),)

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"))
    number: Mapped[int]
    campaign: Mapped[Campaign] = relationship()


class BatchItem(Base):
    """An item at its place in a batch."""

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
    """The check of the definition that this item carries."""
    item: Mapped[Item] = relationship()
