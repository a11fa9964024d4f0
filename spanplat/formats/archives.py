"""Zip files from strangers: unpacked only as far as they are what they claim, and never outside their folder."""

import stat
import zipfile
from pathlib import Path, PurePosixPath

from spanplat.errors import InvalidInput

MOST_FILES = 10_000
MOST_BYTES = 2 * 1024**3
"""Unpacked; counted while unpacking, because what a zip file says about its sizes may be a lie."""

_CHUNK = 1024 * 1024


def unpack_zip(archive: Path, into: Path, *, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> int:
    """Unpack the files of a zip file.

    Parameters
    ----------
    archive
        The zip file.
    into
        An empty folder.
    most_files, most_bytes
        Limits on what is unpacked.

    Returns
    -------
    int
        Bytes unpacked.

    Raises
    ------
    InvalidInput
        If it is no zip file, is encrypted or damaged, holds too much, or names files outside its folder. Some files may have been
        unpacked by then; the caller removes the folder.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if not member.is_dir() and not _is_clutter(member)]
            if len(members) > most_files:
                raise InvalidInput(f"{archive.name} holds {len(members)} files; at most {most_files} are taken")
            left = most_bytes
            for member in members:
                left -= _unpack(opened, member, into / _safe_path(member), left)
            return most_bytes - left
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise InvalidInput(f"{archive.name} cannot be unpacked ({error}); pack it again without a password") from error


def _unpack(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, most_bytes: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with opened.open(member) as packed, target.open("xb") as file:
        while chunk := packed.read(_CHUNK):
            size += len(chunk)
            if size > most_bytes:
                raise InvalidInput(
                    "the zip file unpacks to more than is taken; send its files one by one, or fewer of them"
                )
            file.write(chunk)
    return size


def _safe_path(member: zipfile.ZipInfo) -> Path:
    if stat.S_ISLNK(member.external_attr >> 16):
        raise InvalidInput(f"the zip file holds a link ({member.filename!r}); pack the file itself")
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.filename or not member.filename.isprintable():
        raise InvalidInput(f"the zip file names a file outside its folder ({member.filename!r}); pack it again")
    return Path(*path.parts)


def _is_clutter(member: zipfile.ZipInfo) -> bool:
    """Tell what some systems add to every zip file."""
    return member.filename.startswith("__MACOSX/") or member.filename.rpartition("/")[2] in (".DS_Store", "Thumbs.db")
