"""Output of commands: one JSON document or a table on stdout, notes and progress on stderr."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from spanplat.services.background.progress import OnProgress, ignore_progress

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def print_json(document: Any) -> None:
    """Print a JSON document; dates and times are written as text."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under a header; columns of numbers are right-aligned."""
    cells = [[format_cell(value) for value in row] for row in rows]
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
    """Print a note on stderr, so that stdout contains only the result."""
    click.echo(message, err=True)


@contextlib.contextmanager
def progress_bar(label: str, details: Callable[[], str] = str) -> Iterator[OnProgress]:
    """Give a callback (done, total) that updates a progress bar on a terminal, with details after the label.

    If stderr is no terminal, the callback does nothing, so that logs contain no control characters.
    """
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    with click.progressbar(length=1, label=label, file=sys.stderr, show_pos=True) as bar:

        def show(done: int, total: int | None) -> None:
            bar.label = f"{label} {details()}".rstrip()
            # Without a total the bar is full from the start, and only its count grows.
            bar.length = total or max(done, 1)
            bar.update(done - bar.pos)  # click wants the difference

        yield show


def format_cell(value: object) -> str:
    """Return a value as tables show it: a dash for None, three digits after the point."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value)
