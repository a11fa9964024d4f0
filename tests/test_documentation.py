"""Examples of the documentation are valid input for spanplat."""

import re
from collections.abc import Iterator

import click
import pytest
from _pytest.mark import ParameterSet

from spanplat.cli import main
from spanplat.schemas import yaml_documents
from spanplat.schemas.base import Strict
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.generation import GenerationDefinition
from spanplat.schemas.study import StudyDefinition
from tests.conftest import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "campaigns" / "README.md"]
BASE = {
    "slug": "study",
    "title": "Study",
    "data": {"dataset": "texts"},
    "categories": [
        {"key": "hallucination", "name": "Made up"},
        {"key": "contradiction", "name": "Contradiction"},
        {"key": "unsupported", "name": "Not in the data"},
    ],
    "questions": [{"key": "no-errors", "type": "no_errors", "label": "No errors"}],
}

OTHERS: dict[str, type[Strict]] = {"like": StudyDefinition, "system": GenerationDefinition}
"""What is no campaign, by a key that only it has."""


def blocks(language: str) -> Iterator[ParameterSet]:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for number, found in enumerate(
            re.finditer(rf"^( *)```{language}\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL), start=1
        ):
            block = re.sub(rf"^{found[1]}", "", found[2], flags=re.MULTILINE)
            yield pytest.param(block, id=f"{document.relative_to(ROOT)}-{number}")


@pytest.mark.parametrize("block", list(blocks("yaml")))
def test_definitions_in_the_documentation_are_valid(block: str) -> None:
    given = yaml_documents.load(block)
    schema = next((schema for key, schema in OTHERS.items() if key in given), CampaignDefinition)
    if schema is CampaignDefinition:
        model = {"kind": "llm", "model": {"provider": "overlap"} | given["model"]} if "model" in given else {}
        given = BASE | given | model
    assert schema.model_validate(given).model_fields_set >= given.keys()


@pytest.mark.parametrize("block", list(blocks("sh")))
def test_commands_in_the_documentation_exist_with_their_options(block: str) -> None:
    lines = [line.partition("#")[0].split() for line in block.splitlines()]
    for words in (line[1:] for line in lines if line[:1] == ["spanplat"]):
        command: click.Command = main
        while isinstance(command, click.Group):
            name = words.pop(0)
            found = command.get_command(click.Context(command), name)
            assert found is not None, name
            command = found
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_the_tests_that_the_security_notes_name_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert len(named) > 80
    for file, test in named:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), f"{file}::{test}"
