"""Running commands, in this process or as one of their own."""

import json
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
def initialised(run: Run) -> None:
    """A database to work with."""
    run("init")


@pytest.fixture
def demo_loaded(run: Run) -> None:
    """The demo's dataset and campaigns."""
    run("demo", "--no-serve")
