"""Zip files, honest and hostile."""

import stat
import zipfile
from pathlib import Path

import pytest

from spanplat.errors import InvalidInput
from spanplat.formats.archives import unpack_zip


def pack(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_files_keep_their_folders_and_clutter_is_left_out(tmp_path: Path) -> None:
    archive = pack(tmp_path / "a.zip", {"inputs/d/test.json": b"[1]", "__MACOSX/x": b"", "inputs/.DS_Store": b""})
    assert unpack_zip(archive, tmp_path / "into") == 3
    files = [
        path.relative_to(tmp_path / "into").as_posix() for path in (tmp_path / "into").rglob("*") if path.is_file()
    ]
    assert files == ["inputs/d/test.json"]


@pytest.mark.parametrize("name", ["../out.json", "/etc/out.json", "a/../../out.json", "..\\out.json", "C:\\out.json"])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    archive = pack(tmp_path / "a.zip", {name: b"[]"})
    with pytest.raises(InvalidInput, match="outside its folder"):
        unpack_zip(archive, tmp_path / "into")
    assert [path for path in tmp_path.rglob("out.json")] == []


def test_a_link_is_refused(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("inputs/link.json")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(InvalidInput, match="holds a link"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")


def test_a_bomb_stops_at_the_limit_whatever_its_directory_says(tmp_path: Path) -> None:
    archive = pack(tmp_path / "a.zip", {"a.json": b"0" * 10_000_000})
    assert archive.stat().st_size < 20_000
    with pytest.raises(InvalidInput, match="unpacks to more"):
        unpack_zip(archive, tmp_path / "into", most_bytes=1_000_000)


def test_too_many_files_are_refused_before_any_is_written(tmp_path: Path) -> None:
    archive = pack(tmp_path / "a.zip", {f"{number}.json": b"" for number in range(11)})
    with pytest.raises(InvalidInput, match="holds 11 files; at most 10"):
        unpack_zip(archive, tmp_path / "into", most_files=10)
    assert not (tmp_path / "into").exists()


def test_what_is_no_zip_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"not a zip file")
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.json", "2")
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")
