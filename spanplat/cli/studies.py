"""The command group ``study``: compare several presets or models on one set of outputs."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from spanplat.cli.campaign_run import dollars
from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.options import run_options
from spanplat.cli.output import json_option, note, print_json, print_table, progress_bar
from spanplat.errors import Unavailable
from spanplat.metrics import RANKING_MEASURES
from spanplat.schemas.definition_file import validate_as
from spanplat.schemas.study import StudyDefinition
from spanplat.services.agreement.leaderboard import compute_leaderboard
from spanplat.services.background.parallel import heavy_work
from spanplat.services.background.reports import to_json
from spanplat.services.model_work.studies.defining import (
    create_study,
    find_study,
    list_studies,
    plan_study,
    study_definition,
)
from spanplat.services.model_work.studies.reporting import (
    HEADLINES,
    VariantRow,
    compared,
    load_variants,
    study_options,
    study_rows,
)
from spanplat.services.model_work.studies.running import StudyRun, run_study
from spanplat.settings import load_settings


@click.group()
def study() -> None:
    """Ask several presets or models about one set of outputs: cost, figures and significance in one table, or their average."""


@study.command("create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def create(file: Path, as_json: bool) -> None:
    """Create a study from FILE (YAML), with a campaign for each variant; no model is asked yet.

    FILE may name a protocol, such as three models asked three times each and averaged: campaigns/studies/three-models.yaml.
    See what it would cost with: spanplat study run SLUG --dry-run
    """
    definition = validate_as(read_source(file), StudyDefinition)
    with open_database() as database:
        with database.reading() as session:
            plans = plan_study(session, definition)
        create_study(database, definition, plans)
    names = {name: {"campaign": definition.campaign(name), "items": len(plan.items)} for name, plan in plans.items()}
    if as_json:
        print_json({"slug": definition.slug, "gold": definition.gold, "variants": names})
        return
    click.echo(f"Created {definition.slug} with {len(names)} variants:")
    print_table(("variant", "campaign", "items"), [(name, *entry.values()) for name, entry in names.items()])
    note(f"Next: spanplat study run {definition.slug} --dry-run")


@study.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all studies, newest first."""
    with open_database() as database, database.reading() as session:
        rows = [(entry.slug, entry.title, entry.definition.get("gold")) for entry in list_studies(session)]
    header = ("slug", "title", "gold")
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif rows:
        print_table(header, rows)
    else:
        note("There is no study yet; create one with: spanplat study create FILE.yaml")


@study.command("run")
@click.argument("slug")
@run_options("study")
@json_option
def run(*, slug: str, dry_run: bool, concurrency: int | None, max_cost: float | None, as_json: bool) -> None:
    """Ask about every item that a variant has no answer to; an interrupted study goes on where it stopped."""
    with open_database() as database, progress_bar("Asking") as on_progress:
        report = run_study(
            database, slug, dry_run=dry_run, concurrency=concurrency, max_cost=max_cost, on_progress=on_progress
        )
    if as_json:
        print_json({**asdict(report), "cost": report.cost, "left": report.left})
    elif dry_run:
        _show_estimates(report)
    else:
        _show_run(report)
    # After the report, so that the command prints everything and still ends with status 1.
    if report.problems and not dry_run:
        told = "; ".join(f"{name}: {problem}" for name, problem in report.problems.items())
        raise Unavailable(f"not all variants could be asked to the end, what was answered is kept: {told}")


@study.command("show")
@click.argument("slug")
@click.option(
    "--measure",
    type=click.Choice(list(RANKING_MEASURES)),
    default="char.hard",
    show_default=True,
    help="Measure that orders the variants and by which their differences are tested.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Seed of everything random.")
@json_option
def show(slug: str, measure: str, seed: int, as_json: bool) -> None:
    """Show cost, figures against the gold campaign, and significance, one variant a row."""
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        with database.reading() as session:
            found = find_study(session, slug)
            variants = load_variants(session, found, datetime.now(UTC))
            gold = study_definition(found).gold
        board = None
        if campaigns := compared(found, variants):
            board = compute_leaderboard(database, campaigns[0], list(campaigns[1:]), study_options(seed=seed))
    rows = study_rows(variants, board, measure)
    if as_json:
        print_json(
            {
                "study": slug,
                "measure": measure,
                "rows": [_row(row) for row in rows],
                "figures": board.as_json() if board else None,
            }
        )
        return
    shown = list(dict.fromkeys((measure, *HEADLINES)))
    print_table(
        ("variant", "model", "answered", "failed", "cost", "per 1,000", "s/output", *shown, "p", "rank"),
        [
            (
                row.variant.name,
                row.variant.model,
                row.variant.run.answered,
                row.variant.run.failed,
                _money(row.variant.run.cost),
                _money(row.variant.run.cost_per_1000),
                row.variant.run.seconds_per_output,
                *(row.entry.figures[name].value if row.entry else None for name in shown),
                row.p_best,
                row.entry.figures[measure].cluster if row.entry else None,
            )
            for row in rows
        ],
    )
    if board is None and gold is None:
        note("There is no gold campaign, so nothing is compared.")
        return
    if board is None:
        note(f"Nothing was answered yet; run it with: spanplat study run {slug}")
        return
    note(
        f"On {board.shared} outputs that all answered. p: paired permutation test of {measure} against the best variant."
    )
    note(f"signature: {board.signature}")


def _row(row: VariantRow) -> dict[str, Any]:
    figures = row.variant.run
    return {
        "variant": row.variant.name,
        "campaign": row.variant.campaign.slug,
        "preset": row.variant.preset,
        "model": row.variant.model,
        **{name: value for name, value in asdict(figures).items() if name != "failures"},
        "cost_per_1000": figures.cost_per_1000,
        "figures": {name: to_json(row.entry.figures[name]) for name in RANKING_MEASURES} if row.entry else None,
        "p_best": row.p_best,
    }


def _money(amount: float | None) -> str:
    return "not known" if amount is None else f"{amount:,.4f}"


def _show_estimates(report: StudyRun) -> None:
    rows = [
        (
            name,
            entry.estimate.items,
            entry.estimate.input_tokens,
            entry.estimate.output_tokens,
            _money(entry.estimate.cost),
        )
        for name, entry in report.runs.items()
        if entry.estimate is not None
    ]
    print_table(("variant", "items", "tokens in", "tokens out", "US dollars"), rows)
    click.echo(f"The whole study: {'at a price that is not known' if report.cost is None else dollars(report.cost)}.")
    for name, problem in report.problems.items():
        note(f"{name} would not be asked: {problem}")
    if report.cost is None:
        note("Give price {input, output} in US dollars for a million tokens to know the cost, and to limit it.")


def _show_run(report: StudyRun) -> None:
    rows = [
        (name, entry.asked, sum(entry.failed.values()), entry.left, _money(entry.cost))
        for name, entry in report.runs.items()
    ]
    print_table(("variant", "asked", "failed", "left", "US dollars"), rows)
    if any(entry.stopped == "ceiling" for entry in report.runs.values()):
        note("The next call could cross the ceiling of cost, so the study stopped; raise it with --max-cost to go on.")
    if any(entry.stopped == "waiting" for entry in report.runs.values()):
        note("Batches are with the provider; running again stores their results when they have ended.")
    if report.ensemble:
        note(f"All variants together: spanplat campaign show {report.ensemble}")
    note(f"The table: spanplat study show {report.study}")
