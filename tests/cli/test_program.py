"""Rules for all commands: help, exit statuses, messages without tracebacks, one JSON document."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from spanplat import __version__
from spanplat.cli import main

from .conftest import Run


def all_commands() -> Iterator[tuple[str, ...]]:
    context = click.Context(main)

    def walk(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield (*path, name)
            if isinstance(command, click.Group):
                yield from walk(command, (*path, name))

    return walk(main, ())


@pytest.mark.parametrize("path", list(all_commands()), ids=" ".join)
def test_every_command_explains_itself(run: Run, path: tuple[str, ...]) -> None:
    shown = run(*path, "--help").stdout
    assert shown.startswith(f"Usage: spanplat {' '.join(path)} ")
    description = shown.split("\n\n")[1].strip()
    assert description[0].isupper()
    assert description.split("\n")[0].strip()


def test_every_command_with_a_result_offers_it_as_json() -> None:
    context = click.Context(main)
    without: set[str] = set()
    for path in all_commands():
        command: click.Command | None = main
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group) and "as_json" not in {parameter.name for parameter in command.params}:
            without.add(" ".join(path))
    # Two run until stopped, one prints JSON anyway, one writes the file a platform takes, two have nothing to tell.
    assert without == {"serve", "worker", "campaign schema", "campaign pay", "pool add", "pool remove"}


def test_the_version_is_shown(run: Run) -> None:
    assert run("--version").stdout == f"spanplat {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("user", "add", "me@example.org", "--role", "admin"),
        ("campaign", "list"),
        ("dataset", "list"),
        ("stats", "some"),
        ("agreement", "some", "other"),
        ("serve",),
        ("worker",),
    ],
    ids=" ".join,
)
def test_without_a_database_the_way_to_one_is_told(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, status=1)
    assert result.stdout == ""
    assert "create it with: spanplat init" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("stats",),
        ("export", "demo", "--format", "nonsense", "--output", "x"),
        ("user", "add", "a@b.org"),
    ],
    ids=" ".join,
)
def test_wrong_usage_has_a_status_of_its_own(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, status=2)
    assert "Usage: spanplat" in result.stderr


def test_an_unusable_setting_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("SPANPLAT_HOME", str(file))
    assert "SPANPLAT_HOME" in run("init", status=1).stderr
