"""Datasets, examples, systems, outputs to annotate, and uploaded files."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now, Sha256


class Dataset(Base):
    """Dataset: a collection of examples."""

    __tablename__ = "dataset"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    sha256: Mapped[Sha256] = mapped_column(default="")
    """Digest over all examples and outputs, in order."""
    created_at: Mapped[Now]


class Example(Base):
    """One example of a dataset, with its source."""

    __tablename__ = "example"
    __table_args__ = (UniqueConstraint("dataset_id", "split", "key"),)

    id: Mapped[Id]
    dataset_id: Mapped[int] = mapped_column(ForeignKey("dataset.id", ondelete="CASCADE"))
    split: Mapped[str]
    key: Mapped[str]
    source: Mapped[Any | None]
    # Deferred, because it is about as long as the source, and most pages do not need it.
    source_plain: Mapped[str] = mapped_column(default="", server_default="", deferred=True)
    """Texts and numbers of the source, one per line, for the search."""
    dataset: Mapped[Dataset] = relationship()


class SourceText(Base):
    """Plain text of one field of a source, as it is shown. The offsets of spans on the source side refer to it."""

    __tablename__ = "source_text"
    __table_args__ = (UniqueConstraint("example_id", "field"),)

    id: Mapped[Id]
    example_id: Mapped[int] = mapped_column(ForeignKey("example.id", ondelete="CASCADE"))
    field: Mapped[str]
    text: Mapped[str]
    text_sha256: Mapped[Sha256]


class System(Base):
    """System that produced outputs."""

    __tablename__ = "system"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]


class Output(Base):
    """Text that one system produced for one example. A stored output never changes."""

    __tablename__ = "output"
    __table_args__ = (UniqueConstraint("example_id", "system_id"),)

    id: Mapped[Id]
    example_id: Mapped[int] = mapped_column(ForeignKey("example.id", ondelete="CASCADE"))
    system_id: Mapped[int] = mapped_column(ForeignKey("system.id"), index=True)
    text: Mapped[str]
    text_sha256: Mapped[Sha256]
    example: Mapped[Example] = relationship()
    system: Mapped[System] = relationship()


class Upload(Base):
    """File to import as a dataset. A user uploaded it, or chose it on the server."""

    __tablename__ = "upload"

    id: Mapped[Id]
    token: Mapped[str] = mapped_column(unique=True)
    """Name of the upload in addresses of pages."""
    name: Mapped[str]
    """Original name of the file."""
    path: Mapped[str]
    """Path of the file or unpacked folder, relative to the data folder."""
    # A file may have more than 2 GiB, where the integers of PostgreSQL end.
    size: Mapped[int] = mapped_column(BigInteger)
    """Size in bytes."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    created_at: Mapped[Now]
    imported_at: Mapped[datetime | None]
    report: Mapped[dict[str, Any] | None]
    """Report of the import, with the rows that could not be used."""
