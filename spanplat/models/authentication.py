"""Second factors, recovery codes, and ended sessions."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class SecondFactor(Base):
    """Secret key of a user's authenticator app. It is required at sign-in once the user has confirmed it."""

    __tablename__ = "second_factor"

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), unique=True)
    secret: Mapped[str]
    """Key in Base32, the form that authenticator apps read."""
    created_at: Mapped[Now]
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int] = mapped_column(default=0)
    """Time step of the newest accepted code (30 seconds each, from 1970). This code and older ones are not accepted again."""


class RecoveryCode(Base):
    """Recovery code that replaces the app once. Only its digest is stored."""

    __tablename__ = "recovery_code"
    __table_args__ = (UniqueConstraint("user_id", "code_sha256"),)

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    code_sha256: Mapped[Sha256]
    used_at: Mapped[datetime | None]


class EndedSession(Base):
    """Session that the user ended. The row stays until the session's cookie has expired."""

    __tablename__ = "ended_session"

    id: Mapped[Id]
    key: Mapped[str] = mapped_column(unique=True)
    """Random part of the session's name. A cookie with it is rejected."""
    ended_at: Mapped[Now]
