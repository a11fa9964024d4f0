"""The command group ``generation``: let a model write the outputs of a new system."""

from dataclasses import asdict
from pathlib import Path

import click

from spanplat.cli.campaign_run import dollars, show_estimate
from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.options import run_options
from spanplat.cli.output import json_option, note, print_json, print_table, progress_bar
from spanplat.schemas.definition_file import validate_as
from spanplat.schemas.generation import GenerationDefinition
from spanplat.services.model_work.generations.defining import (
    check_generation,
    create_generation,
    find_generation,
    list_generations,
)
from spanplat.services.model_work.generations.reporting import GenerationFigures, generation_figures
from spanplat.services.model_work.generations.running import GenerationReport, run_generation
from spanplat.text.counting import count_of


@click.group()
def generation() -> None:
    """Have a model write the outputs of a new system from the sources of a dataset."""


@generation.command("create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def create(file: Path, as_json: bool) -> None:
    """Create a generation from FILE (YAML); no model is asked yet."""
    definition = validate_as(read_source(file), GenerationDefinition)
    with open_database() as database:
        with database.reading() as session:  # outside the write transaction, for which others wait
            outputs = check_generation(session, definition)
        with database.transaction() as session:
            made = create_generation(session, definition)
    if as_json:
        print_json({"slug": made.slug, "outputs": outputs, "prompt_sha256": made.prompt_sha256})
        return
    click.echo(f"Created {made.slug}: {count_of(outputs, 'output')} of system {definition.system} to be written.")
    note(f"Next: spanplat generation run {made.slug} --dry-run")


@generation.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all generations, newest first."""
    header = ("slug", "system", "dataset", "model")
    with open_database() as database, database.reading() as session:
        rows = [
            (entry.slug, entry.definition["system"], entry.definition["dataset"], entry.definition["model"]["model"])
            for entry in list_generations(session)
        ]
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif rows:
        print_table(header, rows)
    else:
        note("There is no generation yet; create one with: spanplat generation create FILE.yaml")


@generation.command("run")
@click.argument("slug")
@run_options("generation", "Write at most this many outputs.")
@json_option
def run(
    *, slug: str, limit: int | None, concurrency: int | None, dry_run: bool, max_cost: float | None, as_json: bool
) -> None:
    """Have the model write every output that is not there yet; an interrupted run goes on where it stopped."""
    with open_database() as database, progress_bar("Writing") as on_progress:
        report = run_generation(
            database,
            slug,
            limit=limit,
            concurrency=concurrency,
            dry_run=dry_run,
            max_cost=max_cost,
            on_progress=on_progress,
        )
    if as_json:
        print_json(asdict(report))
    elif report.estimate is not None:
        show_estimate(f"{slug}: {count_of(report.estimate.items, 'output')} would be written.", report.estimate)
    else:
        _show_run(report)


@generation.command("show")
@click.argument("slug")
@json_option
def show(slug: str, as_json: bool) -> None:
    """Show the system, the progress and the cost of a generation."""
    with open_database() as database, database.reading() as session:
        found = find_generation(session, slug)
        figures = generation_figures(session, found)
    if as_json:
        print_json(
            {
                "slug": slug,
                "definition": found.definition,
                "definition_sha256": found.definition_sha256,
                "prompt_sha256": found.prompt_sha256,
                "figures": asdict(figures) | {"cost_per_1000": figures.cost_per_1000},
            }
        )
        return
    click.echo(f"{slug}: system {found.definition['system']}, dataset {found.definition['dataset']}")
    click.echo(f"prompt SHA-256 {found.prompt_sha256}")
    _show_figures(figures)


def _show_run(report: GenerationReport) -> None:
    if report.figures is not None:
        _show_figures(report.figures)
    if report.stopped == "ceiling":
        note("The next call could cross the ceiling of cost, so the run stopped; raise it with --max-cost to go on.")
    if report.problems:
        note(f"Ask again about those that failed: spanplat generation run {report.generation}")


def _show_figures(figures: GenerationFigures) -> None:
    cost = "cost not known" if figures.cost is None else dollars(figures.cost)
    click.echo(
        f"{figures.done} of {figures.promised} outputs written, {figures.calls} calls, "
        f"{figures.input_tokens:,} + {figures.output_tokens:,} tokens, {cost}."
    )
    if figures.cut:
        note(f"{figures.cut} outputs were cut short by the limit of tokens.")
    for reason, count in figures.failures.items():
        note(f"{count} not written: {reason}")
