"""Structure of the code base: layers, file sizes, and the documentation of all commands and settings."""

import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from spanplat.cli import main
from spanplat.settings import Settings
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "campaigns" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def leaf_commands() -> Iterator[str]:
    context = click.Context(main)

    def walk(group: click.Group, path: str) -> Iterator[str]:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from walk(command, f"{path}{name} ")
            else:
                yield f"{path}{name}"

    return walk(main, "")


def test_modules_import_only_from_the_layers_below() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_every_command_is_in_the_readme() -> None:
    missing = [command for command in leaf_commands() if f"{command}`" not in README]
    assert missing == []


def test_every_command_the_documents_name_exists() -> None:
    known = set(leaf_commands())
    groups = {command.split()[0] for command in known if " " in command}
    typed = re.compile(r"(?:^ *|`|/)spanplat ([a-z]+)(?: ([a-z][a-z-]*))?", re.MULTILINE)
    for document in DOCUMENTS:
        named = {f"{one} {two}" if one in groups else one for one, two in typed.findall(document.read_text("utf-8"))}
        assert named <= known, document


def test_every_setting_is_in_the_readme() -> None:
    missing = [name for name in Settings.model_fields if f"`SPANPLAT_{name.upper()}`" not in README]
    assert missing == []


def test_every_setting_the_documents_name_exists() -> None:
    known = {f"SPANPLAT_{name.upper()}" for name in Settings.model_fields}
    for document in DOCUMENTS:
        assert set(re.findall(r"SPANPLAT_[A-Z_]+", document.read_text("utf-8"))) <= known, document


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_link_and_image_of_a_document_exists(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_only_the_annotators_page_keeps_anything_in_the_browser_and_no_script_runs_text() -> None:
    scripts = {path: path.read_text("utf-8") for path in (ROOT / "static" / "js").rglob("*.js")}
    keeping = {
        path.parent.name for path, text in scripts.items() if re.search(r"(local|session)Storage|indexedDB", text)
    }
    assert keeping == {"annotator"}
    assert [path.name for path, text in scripts.items() if re.search(r"\beval\(|new Function\b", text)] == []


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE)) - {"help", "browser"}
    shown = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {line.split()[1] for line in shown.stdout.splitlines()} == targets


def python_files() -> list[Path]:
    return sorted((ROOT / "spanplat").rglob("*.py"))


def test_every_file_has_one_subject_that_its_name_says() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "lib", "core"}
    assert [path.name for path in python_files() if path.stem in vague or path.parent.name in vague] == []


@pytest.mark.filterwarnings("default::pytest.PytestWarning")
def test_long_files_are_listed_in_a_warning() -> None:
    # Not a failure: one long file is better than one subject in two files. Pytest prints the warning below its results.
    for path in python_files():
        if (length := path.read_text("utf-8").count("\n")) > 400:
            question = f"{path.relative_to(ROOT)} has {length} lines: does it have more than one subject?"
            warnings.warn(pytest.PytestWarning(question), stacklevel=1)


def test_no_function_does_more_than_60_lines_can_say() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}: {node.name}": (node.end_lineno or 0) - _first_statement(node).lineno + 1
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > 60} == {}


def _first_statement(function: ast.FunctionDef) -> ast.stmt:
    """Return the first statement after the docstring."""
    return function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]


def test_tests_do_not_import_what_measures() -> None:
    importing = re.compile(r"^\s*(from|import) bench\b", re.MULTILINE)
    tests = sorted((ROOT / "tests").rglob("*.py"))
    assert [str(path.relative_to(ROOT)) for path in tests if importing.search(path.read_text("utf-8"))] == []


def test_nothing_is_left_to_do_in_the_code() -> None:
    left = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError|except Exception:\s*pass")
    assert [str(path.relative_to(ROOT)) for path in python_files() if left.search(path.read_text("utf-8"))] == []
