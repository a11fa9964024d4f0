"""The command ``export``: write a campaign's annotations to a file."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, print_json
from spanplat.formats.exports import EXPORT_FORMATS, find_export_format
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.campaigns.exports import export_records
from spanplat.text.counting import count_of


@click.command()
@click.argument("slug")
@click.option(
    "--format",
    "format_name",
    type=click.Choice([entry.name for entry in EXPORT_FORMATS]),
    required=True,
    help=" ".join(f"{entry.name}: {entry.purpose}." for entry in EXPORT_FORMATS),
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write, or - for stdout."
)
@json_option
def export(slug: str, format_name: str, output: Path, as_json: bool) -> None:
    """Write a campaign's annotations to a file, annotators by pseudonym."""
    to_stdout = str(output) == "-"
    if to_stdout and as_json:
        raise click.UsageError("--json and --output - both need stdout; write the export to a file")
    with open_database() as database, database.reading() as session:
        records = _Counted(export_records(session, slug))
        lines = find_export_format(format_name).write(records)
        if to_stdout:
            for line in lines:
                click.echo(line, nl=False)
        else:
            _write(output, lines)
    if as_json:
        print_json({"campaign": slug, "format": format_name, "output": str(output), "annotations": records.count})
    elif not to_stdout:
        click.echo(f"Wrote {count_of(records.count, 'annotation')} to {output}.")


class _Counted:
    """Iterator that counts the records it passes on: writers are generators and do not report a number."""

    def __init__(self, records: Iterable[AnnotationRecord]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[AnnotationRecord]:
        for record in self._records:
            self.count += 1
            yield record


def _write(output: Path, lines: Iterable[str]) -> None:
    """Write to a temporary file in the same folder and move it into place, so that a failed export leaves no half file."""
    try:
        descriptor, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}-")
    except OSError as error:
        raise click.ClickException(f"cannot write in {output.parent} ({error.strerror})") from error
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
        partial.chmod(0o644)  # `mkstemp` makes files that only their owner may read
        partial.replace(output)
    except BaseException:  # Ctrl-C too
        partial.unlink(missing_ok=True)
        raise
