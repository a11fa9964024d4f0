"""What proves who somebody is beside the password, and which sessions are over."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class SecondFactor(Base):
    """The key that somebody's authenticator app shares with us; it counts from its confirmation on."""

    __tablename__ = "second_factor"

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"), unique=True)
    secret: Mapped[str]
    """In Base32, as apps take it."""
    created_at: Mapped[Now]
    confirmed_at: Mapped[datetime | None]
    last_step: Mapped[int] = mapped_column(default=0)
    """The 30 seconds, counted from 1970, of the newest code that was accepted: neither it nor an older one is accepted again."""


class RecoveryCode(Base):
    """A code that stands in for the app once; only its digest is stored."""

    __tablename__ = "recovery_code"
    __table_args__ = (UniqueConstraint("user_id", "code_sha256"),)

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(ForeignKey("user.id", ondelete="CASCADE"))
    code_sha256: Mapped[Sha256]
    used_at: Mapped[datetime | None]


class EndedSession(Base):
    """A session that was signed out of, kept until its cookie would be too old anyway."""

    __tablename__ = "ended_session"

    id: Mapped[Id]
    key: Mapped[str] = mapped_column(unique=True)
    """The random part of the session's name; a cookie with it is refused."""
    ended_at: Mapped[Now]
