"""Uploads: files that are sent by the browser or found on the server, and imported as datasets in the background."""

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
from spanplat.formats.table_formats import TABLE_FORMATS, TableFormat, format_of_extension
from spanplat.models import Job, JobState, Upload
from spanplat.services.background import OnProgress, enqueue, ignore_progress
from spanplat.services.datasets.importing import import_dataset

UPLOADS = "uploads"
INCOMING = "incoming"
"""Folder below the data folder in which an operator may put files that are too large to upload."""

ARCHIVE = ".zip"
SUFFIXES: tuple[str, ...] = (*(extension for entry in TABLE_FORMATS for extension in entry.extensions), ARCHIVE)
LONGEST_NAME = 200
_CHUNK = 1024 * 1024


def receive_file(home: Path, name: str, content: IO[bytes], *, most_bytes: int) -> tuple[Path, int]:
    """Store an uploaded file below the data folder; a zip file is unpacked.

    Parameters
    ----------
    home
        The data folder.
    name
        Name of the file, without any folder.
    content
        The content of the file.
    most_bytes
        Maximum size of the file.

    Returns
    -------
    Path
        Path of the file or unpacked folder, relative to ``home``.
    int
        Number of bytes on disk.

    Raises
    ------
    InvalidInput
        If the file is empty, too large, of an unknown kind, or a bad zip file; nothing is left on the disk then.
    """
    suffix, table = Path(name).suffix.lower(), format_of_extension(Path(name))
    # The name comes from the browser: one with a folder in it could lead out of the data folder.
    if (table is None and suffix != ARCHIVE) or name != Path(name).name or name.startswith("."):
        raise InvalidInput(f"{name or 'a file without a name'} cannot be a dataset; send {', '.join(SUFFIXES)}")
    if len(name) > LONGEST_NAME:
        raise InvalidInput(f"the name of the file has more than {LONGEST_NAME} characters; give it a shorter one")
    # A folder of its own for each upload, so that files of the same name do not overwrite each other.
    folder = home / UPLOADS / secrets.token_urlsafe(12)
    folder.mkdir(parents=True, mode=0o700)
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, folder, ignore_errors=True)
        file = folder / name
        size = _write(file, content, most_bytes)
        if table is None:
            size = unpack_zip(file, folder / file.stem)
            file.unlink()
            file = folder / file.stem
        else:
            _require_readable(file, table)
        on_failure.pop_all()  # nothing failed, so the folder stays
    return file.relative_to(home), size


def list_incoming(home: Path) -> list[str]:
    """Return the names of files and folders in the incoming folder of the server."""
    folder = home / INCOMING
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []


def find_incoming(home: Path, name: str) -> tuple[Path, int]:
    """Return the path (relative to ``home``) and the size in bytes of an entry of the incoming folder.

    Raises
    ------
    NotFound
        If there is no such entry.
    """
    # Compared with the list and not opened, so that a name such as ``../x`` is never used as a path.
    if name not in list_incoming(home):
        raise NotFound(f"there is no {name!r} in the folder {INCOMING!r} of the server's data folder")
    path = home / INCOMING / name
    files = path.rglob("*") if path.is_dir() else [path]
    return path.relative_to(home), sum(file.stat().st_size for file in files if file.is_file())


def add_upload(session: Session, name: str, path: Path, size: int, user_id: int | None) -> Upload:
    """Record a file that can be imported."""
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
        raise NotFound("there is no such upload; it may have been deleted")
    return upload


def waiting_uploads(session: Session) -> list[Upload]:
    """Return uploads that have not been imported, newest first."""
    return list(session.scalars(select(Upload).where(Upload.imported_at.is_(None)).order_by(Upload.id.desc())))


def find_import_job(session: Session, upload: Upload) -> Job | None:
    """Return the job that imports an upload, or None if the import was not requested."""
    return session.scalar(select(Job).where(Job.key == _job_key(upload.token)))


def start_import(session: Session, token: str, dataset: str | None, columns: Mapping[str, str | None]) -> Job:
    """Request the import of an upload; a second request does not start it again.

    Raises
    ------
    Conflict
        If it has been imported before.
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
    """Import an upload, store the report, and delete the file if it was uploaded.

    Raises
    ------
    NotFound, InvalidInput
        As `spanplat.services.datasets.importing.import_dataset` does.
    """
    with database.reading() as session:
        upload = find_upload(session, token)
    if upload.imported_at is not None:  # the queue may run a job again after a worker died
        return
    report = import_dataset(database, [home / upload.path], name=dataset, columns=columns, on_progress=on_progress)
    # Messages must not show the path of the file on the server.
    prefix = f"{home / upload.path}"
    problems = [problem.replace(prefix, upload.name, 1) for problem in report.problems]
    with database.transaction() as session:
        stored = find_upload(session, token)
        stored.report = report.as_dict() | {"problems": problems}
        stored.imported_at = datetime.now(UTC)
    # Last: until the report is stored, a worker that repeats the job needs the file.
    remove_file(home, upload)


def drop_upload(session: Session, token: str) -> Upload:
    """Delete an upload from the database; `remove_file` deletes its file afterwards.

    Raises
    ------
    Conflict
        If it is being imported.
    """
    upload = find_upload(session, token)
    job = find_import_job(session, upload)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        raise Conflict(f"{upload.name} is being imported; wait until that has ended")
    session.delete(upload)
    session.flush()
    return upload


def remove_file(home: Path, upload: Upload) -> None:
    """Delete an uploaded file; files in the incoming folder belong to the operator and stay."""
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
                    f"{file.name} is larger than {most_bytes // 1024**2} MB; copy it to the server instead"
                )
            target.write(chunk)
    if not size:
        raise InvalidInput(f"{file.name} is empty; nothing was stored")
    return size


def _require_readable(file: Path, table: TableFormat) -> None:
    """Raise if the file cannot be of the format, with a message that does not reveal its path on the server."""
    try:
        table.require(file)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(f"{file}", file.name)) from error
