"""Settings: their sources, and the session key that is made once."""

import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spanplat.errors import InvalidInput
from spanplat.services.background.queue import WorkQueue
from spanplat.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without the settings of the machine."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"SPANPLAT_{name.upper()}", raising=False)


def test_without_any_setting_everything_lies_in_the_home(tmp_path: Path) -> None:
    assert load_settings().database == f"sqlite:///{tmp_path}/spanplat-data/spanplat.sqlite3"


@pytest.mark.parametrize("written", ["postgresql://u@h/n", "postgres://u@h/n", "postgresql+psycopg://u@h/n"])
def test_postgresql_is_spelt_for_its_driver(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("SPANPLAT_DATABASE_URL", written)
    assert load_settings().database == "postgresql+psycopg://u@h/n"


def test_redis_without_its_client_is_answered_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANPLAT_REDIS_URL", "redis://127.0.0.1:6379/0")
    monkeypatch.setitem(sys.modules, "redis", None)  # as if it were not installed
    settings = load_settings()
    with pytest.raises(InvalidInput, match=r"install it with: pip install 'spanplat\[redis\]'"):
        WorkQueue(settings)


def test_the_environment_goes_before_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("SPANPLAT_HOME=from-file\nSPANPLAT_BASE_URL=https://file.example\nOTHER=1\n")
    monkeypatch.setenv("SPANPLAT_HOME", "from-environment")
    settings = load_settings()
    assert (settings.home, settings.base_url) == (Path("from-environment"), "https://file.example")


def test_the_secret_key_is_made_once_and_read_by_its_owner_only() -> None:
    key = load_settings().session_key()
    path = Path("spanplat-data/secret-key")
    assert len(key) >= 43
    assert path.read_text() == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert load_settings().session_key() == key
    assert [entry.name for entry in path.parent.iterdir()] == ["secret-key"]


def test_processes_that_start_together_have_one_key() -> None:
    with ThreadPoolExecutor(8) as executor:
        keys = list(executor.map(lambda _: load_settings().session_key(), range(32)))
    assert len(set(keys)) == 1
    assert all(keys)


def test_a_key_that_is_set_is_taken_and_none_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANPLAT_SECRET_KEY", "mine")
    assert load_settings().session_key() == "mine"
    assert not Path("spanplat-data").exists()


def test_an_empty_key_file_is_named() -> None:
    load_settings().make_home()
    Path("spanplat-data/secret-key").touch()
    with pytest.raises(InvalidInput, match="secret-key is empty; delete it"):
        load_settings().session_key()


def test_what_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("taken").write_text("a file")
    monkeypatch.setenv("SPANPLAT_HOME", "taken")
    with pytest.raises(InvalidInput, match=r"the data folder taken cannot be created .*set SPANPLAT_HOME"):
        load_settings().make_home()
    Path(".env").write_bytes(b"SPANPLAT_BASE_URL=caf\xe9\n")
    with pytest.raises(InvalidInput, match=r"\.env is not UTF-8; save it as UTF-8"):
        load_settings()
