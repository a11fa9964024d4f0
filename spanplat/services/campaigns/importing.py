"""Importing a campaign with its annotations.

The campaign stays invisible until its last record is stored. An interrupted import can be run again. Importing the same files twice
changes nothing.
"""

import difflib
import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.formats.datasets import FACTGENIE
from spanplat.models import (
    Annotation,
    Assignment,
    Batch,
    Campaign,
    CampaignStatus,
    Category,
    CheckResult,
    Item,
    JudgedSpan,
    Span,
    Unplaced,
)
from spanplat.schemas.dataset import OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.slug import slugify
from spanplat.services.accounts import log_event
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.campaigns.import_formats import find_import_format
from spanplat.services.campaigns.import_formats.source import ImportSource
from spanplat.services.campaigns.import_records import ImportReport, IncomingAnnotation
from spanplat.services.campaigns.import_writer import MISSING_OUTPUT, CampaignWriter
from spanplat.services.campaigns.lifecycle import add_campaign
from spanplat.services.datasets import (
    CHUNK,
    MANY_RECORDS,
    DatasetReport,
    OutputKey,
    chunked,
    load_outputs,
    read_records,
    store_records,
)

ANNOTATIONS_AT_ONCE = 50
"""Annotations per transaction; few enough for the write lock to be held well below 100 ms."""


def import_campaign(
    database: Database,
    path: Path,
    *,
    slug: str,
    format: str,  # noqa: A002 (the option's name)
    definition: CampaignDefinition | None = None,
    outputs: Path | None = None,
    inputs: Path | None = None,
    renames: Mapping[str, str] | None = None,
    missing_text: str = "keep",
    on_progress: OnProgress = ignore_progress,
) -> ImportReport:
    """Import a campaign with its annotations.

    Parameters
    ----------
    database
        The target database.
    path
        File (native) or folder (factgenie).
    slug
        Name of the new campaign.
    format
        Name of one of `spanplat.services.campaigns.import_formats.IMPORT_FORMATS`.
    definition
        Definition of the campaign, for formats that do not contain it.
    outputs, inputs
        Folders with the texts and their sources, if they are not imported yet.
    renames
        New slugs of systems by the names in the annotations, if these differ from the names in the outputs.
    missing_text
        ``keep`` stores annotations of unknown outputs apart, as unplaced; ``fail`` ends the import with nothing imported. To place
        unplaced annotations, run the import again after importing their outputs, or with ``renames``.
    on_progress
        Called with the number of records done.

    Raises
    ------
    InvalidInput
        If the path cannot be read, or an output is missing and ``missing_text`` is ``fail``.
    Conflict
        If another campaign has the name.
    """
    if not path.exists():
        raise InvalidInput(f"there is nothing at {path}")
    source = find_import_format(format).open(path, slug, definition)
    digest = _digest(source)
    system_renames = {slugify(old): slugify(new) for old, new in (renames or {}).items()}
    report = ImportReport(slug)
    # The same files again change nothing, unless annotations were left without an output that may be there by now.
    before = _imported_before(database, slug, digest)
    if before is not None and MISSING_OUTPUT not in before["unplaced_annotations"]:
        return ImportReport(slug, already_imported=True)
    _store_folders(database, [folder for folder in (inputs, outputs) if folder is not None], report)
    _store_carried_texts(database, source, system_renames, report)
    # The earlier import is replaced only if this one would place more annotations than that one did.
    if before is not None:
        missing = before["unplaced_annotations"][MISSING_OUTPUT]
        if _count_missing(database, source, system_renames) >= missing:
            return ImportReport(slug, already_imported=True)
        _take_back(database, slug)
    remove_interrupted(database, slug)
    writer = _begin(database, source, report, digest, system_renames)
    done = 0
    for chunk in chunked(source.annotations(system_renames), ANNOTATIONS_AT_ONCE):
        records = [writer.place(incoming) for incoming in chunk]
        if missing_text == "fail" and writer.missing:
            remove_interrupted(database, slug)
            raise InvalidInput(_missing_output(writer))
        with database.transaction() as session:
            writer.write(session, records)
        done += len(records)
        on_progress(done, None)
    report.suggestions = suggest_renames(writer.missing, writer.outputs, writer.systems)
    _finish(database, writer.campaign_id, report)
    if done >= MANY_RECORDS:
        database.refresh_statistics()
    return report


def remove_interrupted(database: Database, slug: str) -> bool:
    """Delete the rest of an interrupted import of this name; return whether there was one."""
    with database.reading() as session:
        campaign_id = session.scalar(
            select(Campaign.id).where(Campaign.slug == slug, Campaign.status == CampaignStatus.IMPORTING)
        )
    if campaign_id is None:
        return False
    # In chunks, because one large transaction would keep other writers waiting. The campaign row goes last, so that a later run finds
    # and removes the rest if this one is interrupted too.
    annotations = (
        select(Annotation.id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(Assignment.campaign_id == campaign_id)
        .limit(CHUNK)
    )
    while True:
        with database.transaction() as session:
            ids = session.scalars(annotations).all()
            session.execute(delete(Span).where(Span.annotation_id.in_(ids)))
            session.execute(delete(Unplaced).where(Unplaced.annotation_id.in_(ids)))
            session.execute(delete(Annotation).where(Annotation.id.in_(ids)))
        if not ids:
            break
    for table in (Unplaced, Assignment, Batch, Item):
        rows = select(table.id).where(table.campaign_id == campaign_id).limit(CHUNK)
        while True:
            with database.transaction() as session:
                ids = session.scalars(rows).all()
                # Results of checks have no campaign of their own; they go with their seats.
                if table is Assignment:
                    session.execute(delete(CheckResult).where(CheckResult.assignment_id.in_(ids)))
                session.execute(delete(table).where(table.id.in_(ids)))
            if not ids:
                break
    with database.transaction() as session:
        session.execute(delete(Category).where(Category.campaign_id == campaign_id))
        session.execute(delete(Campaign).where(Campaign.id == campaign_id))
    return True


def suggest_renames(
    missing: Counter[OutputKey], outputs: Mapping[OutputKey, tuple[int, str]], placed: Collection[str] = ()
) -> list[str]:
    """Suggest how to place annotations of missing outputs: rename a system to a similar name, or import more texts.

    ``placed`` holds the systems whose outputs were found. If only one other system is left, it is suggested whatever its name.
    """
    suggestions = []
    known: dict[tuple[str, str, str], set[str]] = {}
    # The first three names are dataset, split and example: systems with outputs for the same example are candidates.
    for key in outputs:
        known.setdefault(key[:3], set()).add(key.system)
    for system in sorted({key.system for key in missing}):
        mine = [key for key in missing if key.system == system]
        counts = Counter(name for key in mine for name in known.get(key[:3], ()))
        other = _most_alike(system, [name for name in counts if name not in placed])
        if other is not None:
            found = sum(missing[key] for key in mine if other in known.get(key[:3], ()))
            suggestions.append(f"--rename-system {system}={other} would place {found} of them")
        else:
            total = sum(missing[key] for key in mine)
            suggestions.append(
                f"{total} are about outputs of {system} that were not imported; name their folder with --outputs"
            )
    return suggestions


def _most_alike(system: str, others: Sequence[str]) -> str | None:
    """Return the name most similar to a system's, one with the same beginning, or the only one there is."""
    alike = difflib.get_close_matches(system, others, n=1, cutoff=0.7)
    begins = [other for other in others if other.startswith(system) or system.startswith(other)]
    return next(iter([*alike, *begins, *(others if len(others) == 1 else [])]), None)


def _digest(source: ImportSource) -> str:
    digest = hashlib.sha256()
    for path in source.files:
        with path.open("rb") as file:
            # In blocks, because a file may be larger than the memory.
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _imported_before(database: Database, slug: str, digest: str) -> dict[str, Any] | None:
    """Return the report of an earlier import of the same files; None if there was none."""
    with database.reading() as session:
        campaign = session.scalar(
            select(Campaign).where(Campaign.slug == slug, Campaign.status != CampaignStatus.IMPORTING)
        )
        if campaign is None:
            return None
        kept = campaign.imported_from or {}
        if kept.get("sha256") == digest:
            report: dict[str, Any] = kept["report"]
            return report
        raise Conflict(f"there is a campaign {slug!r} already, with other content; choose another --slug")


def _count_missing(database: Database, source: ImportSource, renames: Mapping[str, str]) -> int:
    """Count the annotations whose output is not in the database."""
    keys = [_key_of(entry) for entry in source.annotations(renames) if isinstance(entry, IncomingAnnotation)]
    with database.reading() as session:
        outputs = load_outputs(session, sorted({key.dataset for key in keys}))
    return sum(key not in outputs for key in keys)


def _key_of(incoming: IncomingAnnotation) -> OutputKey:
    return OutputKey(incoming.dataset, incoming.split, incoming.example, incoming.system)


def _take_back(database: Database, slug: str) -> None:
    """Mark an imported campaign as interrupted, so that it is deleted and imported again.

    Raises
    ------
    Conflict
        If another campaign judges its spans.
    """
    with database.transaction() as session:
        campaign = session.scalars(select(Campaign).where(Campaign.slug == slug)).one()
        judging = session.scalar(
            select(Campaign.slug)
            .join(Item, Item.campaign_id == Campaign.id)
            .join(JudgedSpan, JudgedSpan.item_id == Item.id)
            .join(Span, Span.id == JudgedSpan.span_id)
            .join(Annotation, Annotation.id == Span.annotation_id)
            .join(Assignment, Assignment.id == Annotation.assignment_id)
            .where(Assignment.campaign_id == campaign.id)
            .limit(1)
        )
        if judging is not None:
            raise Conflict(
                f"campaign {judging!r} judges the spans that {slug!r} has now, so it stays; import it under another --slug"
            )
        campaign.status = CampaignStatus.IMPORTING


def _store_folders(database: Database, folders: Sequence[Path], report: ImportReport) -> None:
    for folder in folders:
        texts = DatasetReport()
        texts.datasets = store_records(database, read_records([folder], None, FACTGENIE, {}, texts))
        report.take_texts(texts)


def _store_carried_texts(
    database: Database, source: ImportSource, renames: Mapping[str, str], report: ImportReport
) -> None:
    """Store the texts that the annotation records contain."""
    records = (
        (record.dataset, OutputRecord(split=record.split, key=record.example, system=record.system, text=record.text))
        for record in source.annotations(renames)
        if isinstance(record, IncomingAnnotation) and record.text is not None
    )
    texts = DatasetReport()
    texts.datasets = store_records(database, records)
    report.take_texts(texts)


def _begin(
    database: Database, source: ImportSource, report: ImportReport, digest: str, renames: Mapping[str, str]
) -> CampaignWriter:
    datasets = {a.dataset for a in source.annotations(renames) if isinstance(a, IncomingAnnotation)}
    with database.reading() as session:
        outputs = load_outputs(session, sorted(datasets))
    with database.transaction() as session:
        campaign = add_campaign(session, source.definition, CampaignStatus.IMPORTING)
        campaign.imported_from = source.kept | {"sha256": digest}
        categories = _category_ids(session, campaign.id)
    return CampaignWriter(campaign.id, report.campaign, categories, outputs, report)


def _finish(database: Database, campaign_id: int, report: ImportReport) -> None:
    """Make the campaign visible and store its report."""
    with database.transaction() as session:
        campaign = session.get_one(Campaign, campaign_id)
        # Nobody annotates in an imported campaign.
        campaign.status = CampaignStatus.CLOSED
        campaign.imported_from = (campaign.imported_from or {}) | {"report": report.as_dict()}
        log_event(session, "campaign.imported", campaign.slug, sha256=campaign.imported_from["sha256"])


def _missing_output(writer: CampaignWriter) -> str:
    key = next(iter(writer.missing))
    return " ".join(
        [
            f"an annotation's output is missing: {'/'.join(key)}.",
            *suggest_renames(writer.missing, writer.outputs, writer.systems),
        ]
    )


def _category_ids(session: Session, campaign_id: int) -> dict[str, int]:
    rows = session.execute(select(Category.key, Category.id).where(Category.campaign_id == campaign_id))
    return {key: identifier for key, identifier in rows}
