"""Storing examples and outputs, and loading outputs by the names that files use."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import Dataset, Example, Output, SourceText, System
from spanplat.models.statements import insert_absent, insert_absent_ids, rows_changed
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.slug import slugify
from spanplat.services.accounts import log_event
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.text import clean_text, plain_text, sha256_of

CHUNK = 100
"""Maximum number of records per transaction; few enough for well below 100 ms."""
MANY_RECORDS = 1_000
"""Number of records in an import from which on the database refreshes its statistics."""
MOST_CHARACTERS = 20_000
"""Maximum size of the texts and sources per transaction; indexing them for search takes most of its time."""


class OutputKey(NamedTuple):
    """Names that identify an output."""

    dataset: str
    split: str
    example: str
    system: str


@dataclass
class StoredData:
    """Counts of the records stored in a dataset."""

    examples: int = 0
    outputs: int = 0
    unchanged: int = 0
    """Records that were stored before with the same text."""
    differing: list[OutputKey] = field(default_factory=list)
    """Outputs that were stored before with another text; the stored text stays."""


def store_records(
    database: Database,
    records: Iterable[tuple[str, ExampleRecord | OutputRecord]],
    *,
    on_progress: OnProgress = ignore_progress,
) -> dict[str, StoredData]:
    """Store examples and outputs in short transactions; existing ones stay as they are.

    Returns
    -------
    dict
        Counts by dataset slug.
    """
    report: dict[str, StoredData] = {}
    done = 0
    for prepared in _portions(records):
        with database.transaction() as session:
            for slug in dict.fromkeys(slug for slug, _, _ in prepared):
                mine = [(record, values) for other, record, values in prepared if other == slug]
                _store_chunk(session, slug, mine, report.setdefault(slug, StoredData()))
        done += len(prepared)
        on_progress(done, None)
    for slug, stored in report.items():
        _seal(database, slug, stored)
    if done >= MANY_RECORDS:
        database.refresh_statistics()
    return report


def _portions(
    records: Iterable[tuple[str, ExampleRecord | OutputRecord]],
) -> Iterator[list[tuple[str, ExampleRecord | OutputRecord, Any]]]:
    """Prepare the records and divide them into portions for short transactions, limited by their number and their characters."""
    portion: list[tuple[str, ExampleRecord | OutputRecord, Any]] = []
    characters = 0
    for slug, record in records:
        prepared = _prepare(record)
        portion.append((slug, record, prepared))
        characters += len(prepared[0] if isinstance(record, OutputRecord) else prepared[1])
        if len(portion) == CHUNK or characters >= MOST_CHARACTERS:
            yield portion
            portion, characters = [], 0
    if portion:
        yield portion


def load_outputs(session: Session, datasets: Sequence[str]) -> dict[OutputKey, tuple[int, str]]:
    """Return the id and text of every output of the datasets, by its names."""
    rows = session.execute(
        select(Dataset.slug, Example.split, Example.key, System.slug, Output.id, Output.text)
        .join(Example, Example.dataset_id == Dataset.id)
        .join(Output, Output.example_id == Example.id)
        .join(System, System.id == Output.system_id)
        .where(Dataset.slug.in_(datasets))
    )
    return {OutputKey(*names): (output_id, text) for *names, output_id, text in rows}


def chunked(records: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Divide an iterable into lists of at most ``size`` elements."""
    iterator = iter(records)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _prepare(record: ExampleRecord | OutputRecord) -> Any:
    """Clean and hash the text of an output, or clean the texts of a source and its search text, before the transaction begins."""
    if isinstance(record, OutputRecord):
        text = clean_text(record.text)
        return text, sha256_of(text)
    return [(name, clean_text(text)) for name, text in source_texts(record.source)], plain_text(record.source)


def source_texts(source: Any) -> list[tuple[str, str]]:
    """Return the fields of a source in which spans can be marked: the text itself, or every string at the top level."""
    if isinstance(source, str):
        return [("text", source)]
    if isinstance(source, dict):
        return [(str(name), value) for name, value in source.items() if isinstance(value, str)]
    return []


def _store_chunk(
    session: Session, slug: str, records: Sequence[tuple[ExampleRecord | OutputRecord, Any]], stored: StoredData
) -> None:
    # All inserts leave existing rows as they are: two imports may store the same names at the same time.
    insert_absent(session, Dataset, [{"slug": slug, "name": slug}])
    dataset_id = session.scalars(select(Dataset.id).where(Dataset.slug == slug)).one()
    keys = dict.fromkeys((record.split, record.key) for record, _ in records)
    known = _examples(session, dataset_id, keys)
    # The first source of an example stays, and with it its texts.
    sources: dict[tuple[str, str], tuple[Any, list[tuple[str, str]], str]] = {}
    for record, prepared in records:
        if isinstance(record, ExampleRecord) and record.source is not None:
            sources.setdefault((record.split, record.key), (record.source, *prepared))
    added = insert_absent_ids(
        session,
        Example,
        [
            {"dataset_id": dataset_id, "split": split, "key": key, "source": source, "source_plain": plain}
            for split, key in keys
            if (split, key) not in known
            for source, _, plain in [sources.get((split, key), (None, [], ""))]
        ],
    )
    stored.examples += len(added)
    # Read again for the ids, also of examples that another import has inserted since.
    known = _examples(session, dataset_id, keys)
    texts = []
    for names, (source, fields, plain) in sources.items():
        example_id, has_source = known[names]
        if has_source and example_id not in added:
            continue
        if not has_source:
            # An output may come before its example, and then creates the example without a source.
            without = update(Example).where(Example.id == example_id, Example.source.is_(None))
            if not rows_changed(session.execute(without.values(source=source, source_plain=plain))):
                continue  # another import has added its source since
        texts += [
            {"example_id": example_id, "field": name, "text": text, "text_sha256": sha256_of(text)}
            for name, text in fields
        ]
    insert_absent(session, SourceText, texts)
    _store_outputs(session, slug, [(r, *p) for r, p in records if isinstance(r, OutputRecord)], known, stored)


def _store_outputs(
    session: Session,
    slug: str,
    records: Sequence[tuple[OutputRecord, str, str]],
    examples: dict[tuple[str, str], tuple[int, bool]],
    stored: StoredData,
) -> None:
    names = {slugify(record.system): record.system for record, _, _ in records}
    insert_absent(session, System, [{"slug": system, "name": name} for system, name in names.items()])
    systems = {
        system: identifier
        for system, identifier in session.execute(select(System.slug, System.id).where(System.slug.in_(names)))
    }
    example_ids = {examples[record.split, record.key][0] for record, _, _ in records}
    present = {
        (example_id, system_id): digest
        for example_id, system_id, digest in session.execute(
            select(Output.example_id, Output.system_id, Output.text_sha256).where(Output.example_id.in_(example_ids))
        )
    }
    rows = []
    for record, text, digest in records:
        key = examples[record.split, record.key][0], systems[slugify(record.system)]
        if key not in present:
            present[key] = digest
            rows.append({"example_id": key[0], "system_id": key[1], "text": text, "text_sha256": digest})
        elif present[key] == digest:
            stored.unchanged += 1
        else:
            stored.differing.append(OutputKey(slug, record.split, record.key, slugify(record.system)))
    insert_absent(session, Output, rows)
    stored.outputs += len(rows)


def _examples(
    session: Session, dataset_id: int, keys: Collection[tuple[str, str]]
) -> dict[tuple[str, str], tuple[int, bool]]:
    rows = session.execute(
        select(Example.split, Example.key, Example.id, Example.source.is_not(None)).where(
            Example.dataset_id == dataset_id,
            Example.split.in_({split for split, _ in keys}),
            Example.key.in_({key for _, key in keys}),
        )
    )
    return {(split, key): (example_id, has_source) for split, key, example_id, has_source in rows}


def seal_dataset(database: Database, slug: str) -> None:
    """Store a digest of a dataset's outputs, so that figures can name the data from which they were computed."""
    while True:
        with database.reading() as session:
            before = session.scalars(select(Dataset.sha256).where(Dataset.slug == slug)).one()
            digest = _digest(session, slug)
        # If another digest was stored since, another import may have stored outputs that this one lacks: compute it again.
        unchanged = update(Dataset).where(Dataset.slug == slug, Dataset.sha256 == before)
        with database.transaction() as session:
            if rows_changed(session.execute(unchanged.values(sha256=digest))):
                return


def _digest(session: Session, slug: str) -> str:
    rows = session.execute(
        select(Example.split, Example.key, System.slug, Output.text_sha256)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(Output, Output.example_id == Example.id)
        .join(System, System.id == Output.system_id)
        .where(Dataset.slug == slug)
        .order_by(Example.split, Example.key, System.slug)
    )
    # With separators between names and between rows, so that "ab" + "c" and "a" + "bc" have different digests.
    digest = hashlib.sha256()
    for row in rows:
        digest.update("\x1f".join(row).encode() + b"\x1e")
    return digest.hexdigest()


def _seal(database: Database, slug: str, stored: StoredData) -> None:
    """Store the digest of a dataset after an import, and log the import."""
    seal_dataset(database, slug)
    with database.transaction() as session:
        log_event(session, "dataset.imported", slug, examples=stored.examples, outputs=stored.outputs)
