"""Run commands in this process or in a process of their own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from spanplat.cli import main

Run = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with settings of their own."""
    for name in ("SPANPLAT_DATABASE_URL", "SPANPLAT_REDIS_URL", "SPANPLAT_BASE_URL", "SPANPLAT_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPANPLAT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.fixture
def run(home: Path) -> Run:
    """Run a command and return what it printed; it must end with the given status."""
    del home

    def invoke(*arguments: str | Path, status: int = 0) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="spanplat")
        assert result.exit_code == status, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Run a command with --json and return the one document on stdout."""

    def invoke(*arguments: str | Path) -> Any:
        return json.loads(run(*arguments, "--json").stdout)

    return invoke


@pytest.fixture
def initialised(home: Path, sqlite_template: bytes) -> None:
    """A database to work with, as ``spanplat init`` leaves it."""
    home.mkdir(mode=0o700)
    (home / "spanplat.sqlite3").write_bytes(sqlite_template)


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which ``spanplat demo`` has loaded the dataset and the campaigns; tests copy it."""
    home = tmp_path_factory.mktemp("demo") / "home"
    environment = {"SPANPLAT_HOME": str(home), "SPANPLAT_DATABASE_URL": None, "SPANPLAT_REDIS_URL": None}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(home.parent)
        result = CliRunner(env=environment).invoke(main, ["demo", "--no-serve"])
    assert result.exit_code == 0, result.output
    return home


@pytest.fixture
def demo_loaded(home: Path, demo_home: Path) -> None:
    """The demo's dataset and campaigns."""
    shutil.copytree(demo_home, home)
