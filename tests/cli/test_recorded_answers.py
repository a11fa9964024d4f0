"""The command that records answers for comparing two versions: its records must not depend on the time."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def recorded(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "bench.recorded_answers", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_answers_recorded_twice_are_the_same_and_a_changed_one_is_shown(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        done = recorded("record", folder, "--short")
        assert done.returncode == 0, done.stderr
    names = {path.name for path in first.iterdir()}
    assert {"page _.txt", "demo-people 1 work submission.txt", "spanplat demo --no-serve --json.txt"} <= names

    same = recorded("compare", first, second)
    assert (same.returncode, same.stdout) == (0, f"0 of {len(names)} answers differ\n")

    page = second / "page _.txt"
    page.write_text(page.read_text("utf-8").replace("Campaigns", "Studies"), "utf-8")
    (second / "sign-in.txt").unlink()
    changed = recorded("compare", first, second)
    assert changed.returncode == 1
    assert "-<h1>Campaigns</h1>\n+<h1>Studies</h1>" in changed.stdout
    assert changed.stdout.endswith(f"2 of {len(names)} answers differ\n")
