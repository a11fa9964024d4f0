"""Team: users, invitations, API tokens, and the audit log."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Moment, Now, Sha256


class Role(StrEnum):
    """Role of a user, with increasing rights: read, run campaigns, manage users."""

    VIEWER = "viewer"
    RESEARCHER = "researcher"
    ADMIN = "admin"


class User(Base):
    """User account of a member of the team."""

    __tablename__ = "user"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'researcher', 'admin')", name="role"),)

    id: Mapped[Id]
    email: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    password_hash: Mapped[str]
    session_epoch: Mapped[str]
    """Part of every session of this user. A new value ends all sessions."""
    created_at: Mapped[Now]
    deactivated_at: Mapped[datetime | None]
    """Time of the deactivation. The user cannot sign in after it. Their name stays in the audit log."""


class Invitation(Base):
    """Invitation link to create an account. Only the digest of its token is stored."""

    __tablename__ = "invitation"
    __table_args__ = (CheckConstraint("role IN ('viewer', 'researcher', 'admin')", name="role"),)

    id: Mapped[Id]
    email: Mapped[str]
    role: Mapped[str]
    token_sha256: Mapped[Sha256] = mapped_column(unique=True)
    created_at: Mapped[Now]
    expires_at: Mapped[Moment]
    accepted_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Scope(StrEnum):
    """Scope of an API token: read only, or all rights of its owner."""

    READ = "read"
    WRITE = "write"


class ApiToken(Base):
    """API token for scripts. Only its digest is stored."""

    __tablename__ = "api_token"
    __table_args__ = (CheckConstraint("scope IN ('read', 'write')", name="scope"),)

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    scope: Mapped[str]
    hash: Mapped[Sha256] = mapped_column(unique=True)
    created_at: Mapped[Now]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    user: Mapped[User] = relationship()


class Event(Base):
    """Entry of the audit log. Triggers in the database reject changes and deletions."""

    __tablename__ = "event"

    id: Mapped[Id]
    at: Mapped[Now]
    actor: Mapped[str]
    """Actor: ``user:<id>``, ``cli``, ``worker``, ``annotator:<id>``, or ``somebody`` if no entry point named one."""
    verb: Mapped[str]
    subject: Mapped[str]
    detail: Mapped[dict[str, Any] | None]
