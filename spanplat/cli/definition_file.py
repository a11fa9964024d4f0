"""Reader of definition files for the commands."""

from pathlib import Path

import click

from spanplat.schemas.definition_file import DefinitionSource, parse_yaml


def read_source(file: Path) -> DefinitionSource:
    """Parse a definition file and keep the line number of every value."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    return parse_yaml(text, name=str(file))
