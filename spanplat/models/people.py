"""Staff: users, their API tokens, and the audit log."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now, Sha256


class Role(StrEnum):
    """What a user may do, in rising order: look, run campaigns, manage people."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class User(Base):
    """A member of staff."""

    __tablename__ = "user"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'researcher', 'admin')", name="role"),)

    id: Mapped[Id]
    email: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    password_hash: Mapped[str]
    session_epoch: Mapped[str]
    """Part of every session of this user; changing it signs them out everywhere."""
    created_at: Mapped[Now]


class ApiToken(Base):
    """A token for scripts; only its digest is stored."""

    __tablename__ = "api_token"

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    hash: Mapped[Sha256] = mapped_column(unique=True)
    created_at: Mapped[Now]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    user: Mapped[User] = relationship()


class Event(Base):
    """One line of the audit log; rows are only ever added."""

    __tablename__ = "event"

    id: Mapped[Id]
    at: Mapped[Now]
    actor: Mapped[str]
    """Who: ``user:<id>``, ``cli``, ``worker``, ``annotator:<id>``."""
    verb: Mapped[str]
    subject: Mapped[str]
    detail: Mapped[dict[str, Any] | None]
