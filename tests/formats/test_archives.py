"""Valid and malicious zip files."""

import random
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


@pytest.mark.parametrize(
    ("stated", "problem"),
    [(None, "unpacks to more"), (2**31, "unpacks to more"), (1000, "cannot be unpacked"), (0, "cannot be unpacked")],
    ids=["the-truth", "too-much", "too-little", "nothing"],
)
def test_a_bomb_stops_at_the_limit_whatever_its_directory_says(
    tmp_path: Path, stated: int | None, problem: str
) -> None:
    content = bytearray(pack(tmp_path / "a.zip", {"a.json": b"0" * 10_000_000}).read_bytes())
    assert len(content) < 20_000
    if stated is not None:
        for size in (22, content.index(b"PK\1\2") + 24):
            content[size : size + 4] = stated.to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match=problem):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into", most_bytes=1_000_000)
    assert sum(path.stat().st_size for path in (tmp_path / "into").rglob("*")) <= 1_000_000


def test_too_many_files_are_refused_before_any_is_written(tmp_path: Path) -> None:
    archive = pack(tmp_path / "a.zip", {f"{number}.json": b"" for number in range(11)})
    with pytest.raises(InvalidInput, match="holds 11 files; at most 10"):
        unpack_zip(archive, tmp_path / "into", most_files=10)
    assert not (tmp_path / "into").exists()


def test_what_is_no_zip_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"not a zip file")
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")


def test_a_directory_of_a_million_entries_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """It says a million times where one small file lies, and would take half a gigabyte of memory as a list."""
    one = pack(tmp_path / "one.zip", {"a.json": b"[1]"}).read_bytes()
    directory, end = one.index(b"PK\1\2"), one.index(b"PK\5\6")
    entries = one[directory:end] * 1_000_000
    size = end + 12
    many = tmp_path / "a.zip"
    many.write_bytes(one[:directory] + entries + one[end:size] + len(entries).to_bytes(4, "little") + one[size + 4 :])
    with pytest.raises(InvalidInput, match="lists more than 40000 files and folders"):
        unpack_zip(many, tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize("name", ["CON.json", "inputs/nul", "AUX", "inputs/com1.test.json", "lpt9/a.json"])
def test_devices_of_windows_are_refused_everywhere(tmp_path: Path, name: str) -> None:
    archive = pack(tmp_path / "a.zip", {name: b"[]"})
    with pytest.raises(InvalidInput, match="names a device of Windows"):
        unpack_zip(archive, tmp_path / "into")


@pytest.mark.parametrize("name", ["console.json", "inputs/nullity.json", "inputs/com.json"])
def test_what_only_begins_like_a_device_is_taken(tmp_path: Path, name: str) -> None:
    assert unpack_zip(pack(tmp_path / "a.zip", {name: b"[]"}), tmp_path / "into") == 2


@pytest.mark.parametrize("name", ["n" * 300, "a/" * 3000 + "x.json"], ids=["name", "path"])
def test_names_too_long_for_the_disk_are_refused_without_telling_where_it_is(tmp_path: Path, name: str) -> None:
    archive = pack(tmp_path / "a.zip", {name: b"[]"})
    with pytest.raises(InvalidInput) as refused:
        unpack_zip(archive, tmp_path / "into")
    assert f"{tmp_path}" not in str(refused.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_may_ask_for_any_memory_are_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("a.json", b"[]")
    with pytest.raises(InvalidInput, match="packed in an unusual way"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")


def test_an_encrypted_file_says_what_to_do(tmp_path: Path) -> None:
    content = bytearray(pack(tmp_path / "a.zip", {"a.json": b"[]"}).read_bytes())
    content[6] |= 1
    content[content.index(b"PK\1\2") + 8] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match="is encrypted; pack it again without a password"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")


def test_whatever_is_damaged_is_unpacked_or_told(tmp_path: Path) -> None:
    """Bytes are changed by chance (the same in every run), in the contents as well as in the directory."""
    whole = pack(tmp_path / "a.zip", {"inputs/a.json": b"[1, 2, 3]" * 50, "b.json": b"[]"}).read_bytes()
    chance, refused = random.Random(7), []  # noqa: S311 (chooses bytes, not secrets)
    for number in range(400):
        content = bytearray(whole)
        for _ in range(chance.choice((1, 2, 4))):
            content[chance.randrange(len(content))] = chance.randrange(256)
        (tmp_path / "b.zip").write_bytes(content)
        try:
            unpack_zip(tmp_path / "b.zip", tmp_path / f"into-{number}")
        except InvalidInput as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert [reason for reason in refused if f"{tmp_path}" in reason] == []


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.json", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.json", "2")
    with pytest.raises(InvalidInput, match=r"holds 'a\.json' twice"):
        unpack_zip(tmp_path / "a.zip", tmp_path / "into")
