"""Prompt studies."""

from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now


class Study(Base):
    """Several variants of a model campaign, compared with one gold campaign."""

    __tablename__ = "study"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    definition: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
