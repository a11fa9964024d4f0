"""Datasets, their examples, the systems, the outputs that get annotated, and the files they came in."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from spanplat.models.base import Base, Id, Now, Sha256


class Dataset(Base):
    """A collection of examples."""

    __tablename__ = "dataset"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    sha256: Mapped[Sha256] = mapped_column(default="")
    """Digest over all examples and outputs, in order."""
    created_at: Mapped[Now]


class Example(Base):
    """One item of a dataset, with its source."""

    __tablename__ = "example"
    __table_args__ = (UniqueConstraint("dataset_id", "split", "key"),)

    id: Mapped[Id]
    dataset_id: Mapped[int] = mapped_column(ForeignKey("dataset.id", ondelete="CASCADE"))
    split: Mapped[str]
    key: Mapped[str]
    source: Mapped[Any | None]
    source_plain: Mapped[str] = mapped_column(default="", server_default="", deferred=True)
    """The texts and numbers in the source, line by line, for searching."""
    dataset: Mapped[Dataset] = relationship()


class SourceText(Base):
    """The plain text of one field of a source, as shown; spans on the source side index it."""

    __tablename__ = "source_text"
    __table_args__ = (UniqueConstraint("example_id", "field"),)

    id: Mapped[Id]
    example_id: Mapped[int] = mapped_column(ForeignKey("example.id", ondelete="CASCADE"))
    field: Mapped[str]
    text: Mapped[str]
    text_sha256: Mapped[Sha256]


class System(Base):
    """What produced a text."""

    __tablename__ = "system"

    id: Mapped[Id]
    slug: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]


class Output(Base):
    """The text one system produced for one example; immutable once stored."""

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
    """A file that somebody sent or pointed at, to be imported as a dataset once its columns are settled."""

    __tablename__ = "upload"

    id: Mapped[Id]
    token: Mapped[str] = mapped_column(unique=True)
    """Names it in addresses."""
    name: Mapped[str]
    """Name of the file as it was sent."""
    path: Mapped[str]
    """Of the file or unpacked folder, below the data folder."""
    size: Mapped[int] = mapped_column(BigInteger)
    """Bytes."""
    user_id: Mapped[int | None] = mapped_column(ForeignKey("user.id", ondelete="SET NULL"))
    created_at: Mapped[Now]
    imported_at: Mapped[datetime | None]
    report: Mapped[dict[str, Any] | None]
    """What the import did, with the rows that could not be used."""
