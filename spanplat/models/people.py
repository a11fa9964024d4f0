"""Staff: users, invitations, API tokens, and the audit log."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Moment, Now, Sha256


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
    deactivated_at: Mapped[datetime | None]
    """Since when the account lets nobody in; what the person did keeps their name."""


class Invitation(Base):
    """A link by which somebody makes their own account; only the digest of its token is stored."""

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
    """What a script may do with a token: look, or whatever its owner may do."""

    READ = "read"
    WRITE = "write"


class ApiToken(Base):
    """A token for scripts; only its digest is stored."""

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
    """One line of the audit log; rows are only ever added, which triggers in the database enforce."""

    __tablename__ = "event"

    id: Mapped[Id]
    at: Mapped[Now]
    actor: Mapped[str]
    """Who: ``user:<id>``, ``cli``, ``worker``, ``annotator:<id>``, or ``somebody`` whom no entry point named."""
    verb: Mapped[str]
    subject: Mapped[str]
    detail: Mapped[dict[str, Any] | None]
