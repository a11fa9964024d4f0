"""Outputs that a model wrote here, and every call it took."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class Generation(Base):
    """One model writing the outputs of one system."""

    __tablename__ = "generation"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[Sha256]
    prompt_sha256: Mapped[Sha256]
    """Digest of system message, template and forced beginning."""
    worker: Mapped[str | None]
    """Who asks at the moment."""
    lease_expires_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class GenerationCall(Base):
    """One call: what was asked about which example, what came back, what it cost, and the output it made."""

    __tablename__ = "generation_call"

    id: Mapped[Id]
    generation_id: Mapped[int] = mapped_column(ForeignKey("generation.id", ondelete="CASCADE"), index=True)
    example_id: Mapped[int] = mapped_column(ForeignKey("example.id", ondelete="CASCADE"), index=True)
    request_sha256: Mapped[Sha256]
    request: Mapped[dict[str, Any]]
    response: Mapped[dict[str, Any] | None]
    model_version: Mapped[str | None]
    finish_reason: Mapped[str | None]
    text_sha256: Mapped[str | None]
    """Of the output it made; None where it made none."""
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    reasoning_tokens: Mapped[int] = mapped_column(default=0)
    cost: Mapped[float | None]
    """US dollars; None where the model's price is not known, or where nobody can tell whether the call was billed."""
    latency: Mapped[float | None]
    """Seconds."""
    error: Mapped[str | None]
    created_at: Mapped[Now]
