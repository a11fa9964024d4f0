"""The command group ``dataset``: import texts with their sources, and show datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.options import Assignments, rename_option
from spanplat.cli.output import json_option, note, print_json, print_table, progress_bar
from spanplat.formats.datasets import DATASET_FORMATS, DETECT
from spanplat.services.datasets.import_preview import sample_columns
from spanplat.services.datasets.importing import DatasetReport, import_dataset
from spanplat.services.datasets.listing import dataset_summary, list_datasets
from spanplat.text.counting import count_of

ROLES = ("dataset", "split", "key", "system", "text", "source")
PROBLEMS_SHOWN = 10


@click.group()
def dataset() -> None:
    """Import the texts to annotate, with the data they were made from."""


@dataset.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--name", help="Slug of the dataset, if the files do not state it.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(DATASET_FORMATS),
    default=DETECT,
    show_default=True,
)
@rename_option
@click.option(
    "--column",
    "columns",
    type=Assignments("ROLE=COLUMN"),
    multiple=True,
    help=f"Column of a role, if the guess is wrong; roles: {', '.join(ROLES)}. Repeatable.",
)
@json_option
def import_(
    *,
    paths: Sequence[Path],
    name: str | None,
    format_name: str,
    renames: Sequence[tuple[str, str]],
    columns: Sequence[tuple[str, str]],
    as_json: bool,
) -> None:
    """Import examples and outputs from files or factgenie folders.

    Existing examples and outputs do not change: running the same import again adds nothing.
    """
    with open_database() as database:
        for path in paths:  # before the import, so that the user sees a wrong guess at once
            _show_mapping(path, format_name, dict(columns))
        with progress_bar("Importing") as on_progress:
            report = import_dataset(
                database,
                paths,
                name=name,
                format=format_name,
                renames=dict(renames),
                columns=dict(columns),
                on_progress=on_progress,
            )
    if as_json:
        print_json(report.as_dict())
        return
    print_table(
        ("dataset", "examples", "outputs", "already there"),
        [(slug, stored.examples, stored.outputs, stored.unchanged) for slug, stored in report.datasets.items()],
    )
    _show_problems(report)


def _show_mapping(path: Path, format_name: str, columns: Mapping[str, str]) -> None:
    """Print the guessed role of each column; a factgenie folder has no columns to guess."""
    _names, mapping = sample_columns(path, columns, format_name)
    if mapping is None:
        return
    found = [f"{role} is {column}" for role in ROLES if (column := getattr(mapping, role)) is not None]
    unused = f"; not used: {', '.join(mapping.unused)}" if mapping.unused else ""
    if found:
        note(f"{path.name}: {', '.join(found)}{unused} (change with --column ROLE=COLUMN)")


def _show_problems(report: DatasetReport) -> None:
    for problem in report.problems[:PROBLEMS_SHOWN]:
        note(problem)
    if report.problem_count > PROBLEMS_SHOWN:
        note(f"… and {report.problem_count - PROBLEMS_SHOWN} more rows that could not be used (all of them: --json)")
    if report.differing:
        shown = ", ".join("/".join(key) for key in report.differing[:3])
        note(
            f"{len(report.differing)} outputs are stored with another text, which stays ({shown} …); "
            "import the new texts as a dataset or system of another name"
        )


@dataset.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all datasets."""
    with open_database() as database, database.reading() as session:
        found = list_datasets(session)
    if as_json:
        print_json([asdict(entry) for entry in found])
    elif found:
        print_table(
            ("slug", "examples", "outputs", "systems"),
            [(entry.slug, entry.examples, entry.outputs, len(entry.systems)) for entry in found],
        )
    else:
        note("There is no dataset yet; import one with: spanplat dataset import FILE --name SLUG")


@dataset.command("show")
@click.argument("slug")
@json_option
def show(slug: str, as_json: bool) -> None:
    """Show a dataset's splits and systems."""
    with open_database() as database, database.reading() as session:
        found = dataset_summary(session, slug)
    if as_json:
        print_json(asdict(found))
        return
    click.echo(f"{found.slug}: {count_of(found.examples, 'example')}, {count_of(found.outputs, 'output')}")
    for header, counts in (("split", found.splits), ("system", found.systems)):
        click.echo()
        print_table((header, "outputs"), list(counts.items()))
