"""Safe unpacking of zip files from users: within limits, and never outside the target folder."""

import mmap
import re
import stat
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from spanplat.errors import InvalidInput

MOST_FILES = 10_000
MOST_BYTES = 2 * 1024**3
"""Limit of the unpacked size, counted while unpacking, because the sizes in a zip file may be false."""

_CHUNK = 1024 * 1024
_ENTRY = b"PK\x01\x02"
"""First bytes of each entry of the directory."""
_ENTRIES_PER_FILE = 4
"""Allowed entries of the directory per file; folders and clutter are entries too."""
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Default methods of zip programs; unpacking others may need gigabytes of memory."""
_LONGEST_NAME = 200
"""Bytes of each part of a path; file systems allow 255."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\s*(\..*)?", re.IGNORECASE)
"""Names that Windows uses for devices, with any extension."""


def unpack_zip(archive: Path, into: Path, *, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> int:
    """Unpack the files of a zip file.

    Parameters
    ----------
    archive
        The zip file.
    into
        An empty folder.
    most_files, most_bytes
        Limits of the unpacked files.

    Returns
    -------
    int
        Number of unpacked bytes.

    Raises
    ------
    InvalidInput
        If it is no zip file, is encrypted or damaged, holds too much, or names files outside its folder. Some files may be unpacked
        already; the caller removes the folder.
    """
    try:
        _require_small_directory(archive, _ENTRIES_PER_FILE * most_files)
        with zipfile.ZipFile(archive) as opened:
            members = [member for member in opened.infolist() if not member.is_dir() and not _is_clutter(member)]
            if len(members) > most_files:
                raise InvalidInput(f"{archive.name} holds {len(members)} files; at most {most_files} are accepted")
            left = most_bytes
            for member in members:
                left -= _unpack(opened, member, into / _safe_path(member), left)
            return most_bytes - left
    # `zipfile` and `zlib` report a damaged or unusual file by any of these. `mmap` raises ValueError for an empty file.
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
        struct.error,
        zlib.error,
    ) as error:
        raise InvalidInput(f"{archive.name} cannot be unpacked ({error}); pack it again") from error
    except OSError as error:  # its full message contains the path on the server, which users must not see
        raise InvalidInput(
            f"{archive.name} cannot be unpacked ({error.strerror or 'it is damaged'}); pack it again"
        ) from error


def _require_small_directory(archive: Path, most_entries: int) -> None:
    """Refuse a zip file with millions of entries before `zipfile` reads its directory into memory."""
    with archive.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        position, entries = -1, 0
        while (position := content.find(_ENTRY, position + 1)) >= 0:
            entries += 1
            if entries > most_entries:
                raise InvalidInput(
                    f"{archive.name} lists more than {most_entries} files and folders; send fewer at once"
                )


def _unpack(opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, most_bytes: int) -> int:
    if member.flag_bits & _ENCRYPTED:
        raise InvalidInput(f"{member.filename!r} in the zip file is encrypted; pack it again without a password")
    if member.compress_type not in _METHODS:
        raise InvalidInput(
            f"{member.filename!r} in the zip file is packed in an unusual way; pack it again without options"
        )
    if target.exists():  # also if two names differ in case only, on a file system that ignores it
        raise InvalidInput(f"the zip file holds {member.filename!r} twice; pack it again")
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with opened.open(member) as packed, target.open("xb") as file:
        while chunk := packed.read(_CHUNK):
            size += len(chunk)
            if size > most_bytes:
                raise InvalidInput(
                    "the zip file unpacks to more than is accepted; send its files one by one, or fewer of them"
                )
            file.write(chunk)
    return size


def _safe_path(member: zipfile.ZipInfo) -> Path:
    # The upper half of the attributes is the Unix mode. A link could lead out of the folder.
    if stat.S_ISLNK(member.external_attr >> 16):
        raise InvalidInput(f"the zip file holds a link ({member.filename!r}); pack the file itself")
    # Windows reads a backslash as a separator, and a colon as a drive or a hidden stream of a file.
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in member.filename or not member.filename.isprintable():
        raise InvalidInput(f"the zip file names a file outside its folder ({member.filename!r}); pack it again")
    if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise InvalidInput(
            f"the zip file names a file with more than {_LONGEST_NAME} bytes ({member.filename[:40]!r}…)"
        )
    if any(_DEVICE.fullmatch(part) for part in path.parts):
        raise InvalidInput(f"the zip file names a device of Windows ({member.filename!r}); give the file another name")
    return Path(*path.parts)


def _is_clutter(member: zipfile.ZipInfo) -> bool:
    """Tell whether an entry is a file that macOS or Windows adds by itself."""
    return member.filename.startswith("__MACOSX/") or member.filename.rpartition("/")[2] in (".DS_Store", "Thumbs.db")
