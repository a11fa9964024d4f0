"""Exports: a campaign's annotations as files."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, print_json
from spanplat.formats.native import write_csv, write_jsonl
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.exports import export_records
from spanplat.text.counting import count_of

WRITERS: dict[str, Callable[[Iterable[AnnotationRecord]], Iterator[str]]] = {"jsonl": write_jsonl, "csv": write_csv}


@click.command()
@click.argument("slug")
@click.option("--format", "format_name", type=click.Choice(list(WRITERS)), required=True)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write, or - for stdout."
)
@json_option
def export(slug: str, format_name: str, output: Path, as_json: bool) -> None:
    """Write a campaign's annotations to a file, annotators by pseudonym.

    JSON lines have one record for each annotation; CSV has one row for each span, and one for an annotation without spans.
    """
    to_stdout = str(output) == "-"
    if to_stdout and as_json:
        raise click.UsageError("--json and --output - both need stdout; write the export to a file")
    with open_database() as database, database.reading() as session:
        records = _Counted(export_records(session, slug))
        lines = WRITERS[format_name](records)
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
    """Counts what passes through."""

    def __init__(self, records: Iterable[AnnotationRecord]) -> None:
        self._records = records
        self.count = 0

    def __iter__(self) -> Iterator[AnnotationRecord]:
        for record in self._records:
            self.count += 1
            yield record


def _write(output: Path, lines: Iterable[str]) -> None:
    """Write beside the target and move into place, so that a failed export leaves no half file."""
    try:
        descriptor, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}-")
    except OSError as error:
        raise click.ClickException(f"cannot write in {output.parent} ({error.strerror})") from error
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
        partial.chmod(0o644)
        partial.replace(output)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
