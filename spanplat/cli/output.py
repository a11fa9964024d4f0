"""What commands print: one JSON document or a table on stdout, notes and progress on stderr."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from spanplat.services.importing.progress import OnProgress, ignore_progress

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def print_json(document: Any) -> None:
    """Print a JSON document; moments are written in ISO form."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a header; columns of numbers stand to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[column]) for line in [list(header), *cells]) for column in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[column], (int, float)) or row[column] is None for row in rows)
        for column in range(len(header))
    ]
    for line in [list(header), ["-" * width for width in widths], *cells]:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def note(message: str) -> None:
    """Say something that is not the result."""
    click.echo(message, err=True)


@contextlib.contextmanager
def progress_bar(label: str, details: Callable[[], str] = str) -> Iterator[OnProgress]:
    """Give a function that shows progress (done, total) on a terminal, and does nothing elsewhere; details follow the label."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    with click.progressbar(length=1, label=label, file=sys.stderr, show_pos=True) as bar:

        def show(done: int, total: int | None) -> None:
            bar.label = f"{label} {details()}".rstrip()
            bar.length = total or max(done, 1)
            bar.update(done - bar.pos)

        yield show


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)
