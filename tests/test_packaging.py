"""The wheel is complete: installed into an empty environment outside the checkout, it runs the demo."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

SHIPPED = ("templates", "static", "migrations", "campaigns")


def run(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPANPLAT_", "COV_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def uv() -> str:
    from uv import find_uv_bin  # noqa: PLC0415 - where the installed uv is

    return find_uv_bin()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(uv(), "build", "--quiet", "--wheel", "--out-dir", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_contains_every_shipped_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", *SHIPPED, cwd=ROOT).splitlines()
    expected = {f"spanplat/packaged/{name}" for name in tracked if (ROOT / name).exists()}
    assert len(expected) > 20
    assert expected <= names
    assert "spanplat/py.typed" in names
    languages = ("ar", "cs", "de", "es")
    assert {f"spanplat/translations/{language}/LC_MESSAGES/messages.mo" for language in languages} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_installed_wheel_runs_the_demo_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    environment, folder = tmp_path / "environment", tmp_path / "empty"
    folder.mkdir()
    run(uv(), "venv", "--quiet", environment, cwd=tmp_path)
    python = environment / "bin" / "python"
    locked = ROOT / "requirements.lock"
    run(uv(), "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", locked, cwd=tmp_path)
    run(uv(), "pip", "install", "--quiet", "--python", python, "--no-deps", wheel, cwd=tmp_path)
    shown = run(environment / "bin" / "spanplat", "demo", "--no-serve", cwd=folder)
    assert "demo-sample-a  demo-overlap" in shown
    assert (folder / "spanplat-demo" / "spanplat.sqlite3").exists()
    place = run(python, "-c", "import spanplat; print(spanplat.__file__)", cwd=folder)
    assert Path(place.strip()).is_relative_to(environment)
