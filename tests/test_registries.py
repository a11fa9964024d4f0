"""Each measure, format, provider and the like is named only in its registry, so that a new one needs no change elsewhere."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanplat.formats.exports import EXPORT_FORMATS
from spanplat.formats.table_formats import TABLE_FORMATS
from spanplat.paths import TEMPLATES
from spanplat.platforms import PLATFORM_NAMES
from spanplat.schemas.checks import CHECK_KINDS
from spanplat.schemas.providers import PROVIDER_NAMES
from spanplat.schemas.questions import QUESTION_KINDS, Question
from spanplat.services.campaigns.import_formats import IMPORT_FORMATS
from tests.conftest import ROOT

PACKAGE = ROOT / "spanplat"
HOMES = {
    "formats": (
        "formats/exports.py",
        "formats/native.py",
        "formats/table_formats.py",
        "services/campaigns/import_formats",
    ),
    "question kinds": ("schemas/questions",),
    "checks": ("schemas/checks",),
    "platforms": ("platforms",),
    "providers": ("schemas/providers.py", "llm/providers"),
}
"""Where the names of each registry stand."""
NAMES = {
    "formats": {entry.name for formats in (EXPORT_FORMATS, IMPORT_FORMATS, TABLE_FORMATS) for entry in formats},
    "question kinds": {kind.kind() for kind in QUESTION_KINDS},
    "checks": {kind.kind() for kind in CHECK_KINDS},
    "platforms": set(PLATFORM_NAMES),
    "providers": set(PROVIDER_NAMES),
}
COMMON = frozenset({"text", "choice", "choices", "checkbox", "json", "csv", "direct", "other", "overlap", "gold"})
"""Names that are also everyday words of code: fields of forms, JSON keys, overlapping spans, rows of gold figures."""
ALLOWED = {
    ("formats/datasets.py", "jsonl"): "factgenie writes its outputs as JSON lines, whatever the file is called",
    ("formats/datasets.py", "factgenie"): "a folder is a layout of several files, and no table",
    ("formats/tables.py", "csv"): "tables of figures have a list of downloads of their own",
    ("formats/factgenie.py", "slider"): "factgenie's own word for a kind of answer",
    ("schemas/platform.py", "prolific"): "the claim in the links that Prolific signs",
    ("services/demo.py", "native"): "the demo's sample annotations are files of this format",
}
"""Places that mean one entry, and why."""


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("registry", NAMES)
def test_only_the_registry_names_its_entries(registry: str) -> None:
    wanted = NAMES[registry] - COMMON
    homes = [PACKAGE / home for home in HOMES[registry]]
    found = {
        (str(path.relative_to(PACKAGE)), text)
        for path in PACKAGE.rglob("*.py")
        if not any(path == home or path.is_relative_to(home) for home in homes)
        for text in literals(path)
        if text in wanted
    }
    assert found - ALLOWED.keys() == set(), f"ask the entry of {registry} what it can do, instead of its name"


def test_every_allowed_place_still_names_its_entry() -> None:
    assert [(path, name) for path, name in ALLOWED if name not in set(literals(PACKAGE / path))] == []


@pytest.mark.parametrize("kind", QUESTION_KINDS, ids=lambda kind: kind.kind())
def test_every_kind_of_question_has_a_template_and_a_name(kind: type[Question]) -> None:
    assert (TEMPLATES / "annotator" / f"question_{kind.kind()}.html").is_file()
    assert kind.kind_title


@pytest.mark.parametrize("names", [list(names) for names in NAMES.values()], ids=list(NAMES))
def test_names_are_words_that_fit_into_files_and_addresses(names: list[str]) -> None:
    assert [
        name for name in names if not name.replace("_", "").replace("-", "").isalnum() or name != name.lower()
    ] == []
