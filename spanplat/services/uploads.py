"""Files that become datasets: received or pointed at, looked at, and imported in the background."""

import contextlib
import secrets
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.formats.archives import unpack_zip
from spanplat.formats.parquet import require_parquet
from spanplat.models import Job, JobState, Upload
from spanplat.services.importing.datasets import import_dataset
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.jobs import enqueue

UPLOADS = "uploads"
INCOMING = "incoming"
"""Folder below the data folder in which an operator may lay files that are too large to send."""

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq", ".zip")
LONGEST_NAME = 200
_CHUNK = 1024 * 1024


def receive_file(home: Path, name: str, content: IO[bytes], *, most_bytes: int) -> tuple[Path, int]:
    """Write a file that was sent below the data folder; a zip file is unpacked.

    Parameters
    ----------
    home
        The data folder.
    name
        Name of the file, without any folder.
    content
        Its bytes.
    most_bytes
        Limit on them.

    Returns
    -------
    Path
        Of the file or unpacked folder, relative to ``home``.
    int
        Bytes on disk.

    Raises
    ------
    InvalidInput
        If it is empty, too large, of no known kind, or a bad zip file; nothing of it is left on the disk then.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES or name != Path(name).name or name.startswith("."):
        raise InvalidInput(f"{name or 'a file without a name'} cannot be a dataset; send {', '.join(SUFFIXES)}")
    if len(name) > LONGEST_NAME:
        raise InvalidInput(f"the name of the file has more than {LONGEST_NAME} characters; give it a shorter one")
    folder = home / UPLOADS / secrets.token_urlsafe(12)
    folder.mkdir(parents=True, mode=0o700)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, folder, ignore_errors=True)
        file = folder / name
        size = _write(file, content, most_bytes)
        if suffix == ".zip":
            size = unpack_zip(file, folder / file.stem)
            file.unlink()
            file = folder / file.stem
        elif suffix in (".parquet", ".pq"):
            _require_table(file)
        else:
            _require_text(file)
        on_failure.pop_all()
    return file.relative_to(home), size


def list_incoming(home: Path) -> list[str]:
    """Return names of files and folders that lie ready on the server."""
    folder = home / INCOMING
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []


def find_incoming(home: Path, name: str) -> tuple[Path, int]:
    """Return path (relative to ``home``) and size in bytes of what lies ready under a name.

    Raises
    ------
    NotFound
        If nothing does.
    """
    if name not in list_incoming(home):
        raise NotFound(f"there is no {name!r} in the folder {INCOMING!r} of the server's data folder")
    path = home / INCOMING / name
    files = path.rglob("*") if path.is_dir() else [path]
    return path.relative_to(home), sum(file.stat().st_size for file in files if file.is_file())


def add_upload(session: Session, name: str, path: Path, size: int, user_id: int | None) -> Upload:
    """Note a file that is there to be imported."""
    upload = Upload(token=secrets.token_urlsafe(12), name=name, path=path.as_posix(), size=size, user_id=user_id)
    session.add(upload)
    session.flush()
    return upload


def find_upload(session: Session, token: str) -> Upload:
    """Return an upload.

    Raises
    ------
    NotFound
        If there is none.
    """
    upload = session.scalar(select(Upload).where(Upload.token == token))
    if upload is None:
        raise NotFound("there is no such upload; it may have been thrown away")
    return upload


def waiting_uploads(session: Session) -> list[Upload]:
    """Return uploads that have not been imported, newest first."""
    return list(session.scalars(select(Upload).where(Upload.imported_at.is_(None)).order_by(Upload.id.desc())))


def find_import_job(session: Session, upload: Upload) -> Job | None:
    """Return the job that imports an upload, if it was asked for."""
    return session.scalar(select(Job).where(Job.key == _job_key(upload.token)))


def start_import(session: Session, token: str, dataset: str | None, columns: Mapping[str, str | None]) -> Job:
    """Ask for an upload to be imported; asking twice starts it once.

    Raises
    ------
    Conflict
        If it has been imported.
    """
    upload = find_upload(session, token)
    if upload.imported_at is not None:
        raise Conflict(f"{upload.name} has been imported; send the file again to import it under another name")
    actor = session.info.get("actor", "somebody")
    payload = {"upload": token, "dataset": dataset, "columns": dict(columns), "actor": actor}
    return enqueue(session, "import-dataset", _job_key(token), payload)


def import_upload(
    database: Database,
    home: Path,
    token: str,
    dataset: str | None,
    columns: Mapping[str, str | None],
    *,
    on_progress: OnProgress = ignore_progress,
) -> None:
    """Import an upload, keep the report, and remove the file if it was sent.

    Raises
    ------
    NotFound, InvalidInput
        As `spanplat.services.importing.datasets.import_dataset` does.
    """
    with database.reading() as session:
        upload = find_upload(session, token)
    if upload.imported_at is not None:
        return
    report = import_dataset(database, [home / upload.path], name=dataset, columns=columns, on_progress=on_progress)
    prefix = f"{home / upload.path}"
    problems = [problem.replace(prefix, upload.name, 1) for problem in report.problems]
    with database.transaction() as session:
        stored = find_upload(session, token)
        stored.report = report.as_dict() | {"problems": problems}
        stored.imported_at = datetime.now(UTC)
    remove_file(home, upload)


def drop_upload(session: Session, token: str) -> Upload:
    """Forget an upload; its file is removed afterwards with `remove_file`.

    Raises
    ------
    Conflict
        While it is being imported.
    """
    upload = find_upload(session, token)
    job = find_import_job(session, upload)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        raise Conflict(f"{upload.name} is being imported; wait until that has ended")
    session.delete(upload)
    session.flush()
    return upload


def remove_file(home: Path, upload: Upload) -> None:
    """Remove what was sent; what lies in the incoming folder is the operator's and stays."""
    place, _separator, rest = upload.path.partition("/")
    if place == UPLOADS:
        shutil.rmtree(home / UPLOADS / rest.partition("/")[0], ignore_errors=True)


def _job_key(token: str) -> str:
    return f"import-dataset:{token}"


def _write(file: Path, content: IO[bytes], most_bytes: int) -> int:
    size = 0
    with file.open("xb") as target:
        while chunk := content.read(_CHUNK):
            size += len(chunk)
            if size > most_bytes:
                raise InvalidInput(
                    f"{file.name} is larger than {most_bytes // 1024**2} MB; lay it on the server instead"
                )
            target.write(chunk)
    if not size:
        raise InvalidInput(f"{file.name} is empty; nothing was stored")
    return size


def _require_table(file: Path) -> None:
    """Refuse what is no usable Parquet file; where it lies on the server is nobody's matter."""
    try:
        require_parquet(file)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(f"{file}", file.name)) from error


def _require_text(file: Path) -> None:
    """Refuse what is no text at all, before anybody is asked about its columns."""
    with file.open("rb") as opened:
        start = opened.read(_CHUNK)
    if b"\0" in start:
        raise InvalidInput(f"{file.name} is not a text file, whatever its name says; save it as UTF-8 {file.suffix}")
