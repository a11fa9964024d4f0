"""Work of models: calls, claims on items, provider batches, generations and studies."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from spanplat.models.base import Base, Id, Now, Sha256


class ModelCall:
    """Columns of tables of model calls: the request, the response and the cost."""

    request_sha256: Mapped[Sha256]
    request: Mapped[dict[str, Any]]
    response: Mapped[dict[str, Any] | None]
    model_version: Mapped[str | None]
    """Version that the provider reports."""
    finish_reason: Mapped[str | None]
    input_tokens: Mapped[int] = mapped_column(default=0)
    output_tokens: Mapped[int] = mapped_column(default=0)
    reasoning_tokens: Mapped[int] = mapped_column(default=0)
    cost: Mapped[float | None]
    """Cost in US dollars; None if the price of the model is not known, or if it is not known whether the call was billed."""
    latency: Mapped[float | None]
    """Time until the response in seconds."""
    error: Mapped[str | None]
    created_at: Mapped[Now]


class Completion(ModelCall, Base):
    """Model call about one item of a seat."""

    __tablename__ = "completion"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"), index=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))


class GenerationCall(ModelCall, Base):
    """Model call about one example, with the digest of the generated output."""

    __tablename__ = "generation_call"

    id: Mapped[Id]
    generation_id: Mapped[int] = mapped_column(ForeignKey("generation.id", ondelete="CASCADE"), index=True)
    example_id: Mapped[int] = mapped_column(ForeignKey("example.id", ondelete="CASCADE"), index=True)
    text_sha256: Mapped[str | None]
    """Digest of the generated output; None if there is no output."""


class ClaimState(StrEnum):
    """State of a claim on an item."""

    ASKING = "asking"
    """A worker asks the model. The claim is valid until the lease expires."""
    SUBMITTED = "submitted"
    """The request was submitted with a batch."""
    ANSWERED = "answered"
    FAILED = "failed"
    """The run gave up. The next run asks again."""


class ModelBatch(Base):
    """Requests that were submitted together through a provider's batch interface."""

    __tablename__ = "model_batch"

    id: Mapped[Id]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    key: Mapped[str] = mapped_column(unique=True)
    """Our name for the batch. It is stored before the submission, so that a batch is found again after a crash."""
    external_id: Mapped[str | None]
    """The provider's id for the batch; None until the provider has answered."""
    requests: Mapped[int]
    done: Mapped[int] = mapped_column(default=0)
    """Number of finished requests, as the provider reports it."""
    error: Mapped[str | None]
    created_at: Mapped[Now]
    ended_at: Mapped[datetime | None]
    """Time when its results were stored."""


class ModelClaim(Base):
    """Claim of a worker on an item of a seat, so that two workers do not ask the model about the same item."""

    __tablename__ = "model_claim"

    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id", ondelete="CASCADE"), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaign.id", ondelete="CASCADE"), index=True)
    batch_id: Mapped[int | None] = mapped_column(ForeignKey("model_batch.id", ondelete="CASCADE"), index=True)
    state: Mapped[str]
    worker: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    reserved: Mapped[float] = mapped_column(default=0.0)
    """US dollars that the running call may cost. The budget counts them as spent."""
    failure: Mapped[str | None]
    """Kind of the last failure: ``refusal``, ``timeout``, ``status 400``, …"""
    error: Mapped[str | None]
    """Message of the last error, for users."""
    changed_at: Mapped[Now]


class Generation(Base):
    """Generation of the outputs of one system by one model."""

    __tablename__ = "generation"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[Sha256]
    prompt_sha256: Mapped[Sha256]
    """Digest of the system message, the template and the forced beginning of the reply."""
    worker: Mapped[str | None]
    """Worker that runs the generation now."""
    lease_expires_at: Mapped[datetime | None]
    created_at: Mapped[Now]


class Study(Base):
    """Study: several variants of a model campaign, compared with one gold campaign."""

    __tablename__ = "study"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    definition: Mapped[dict[str, Any]]
    created_at: Mapped[Now]
