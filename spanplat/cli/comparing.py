"""Commands that compare several campaigns: ``leaderboard``, ``matrix``, ``systems`` and ``sentinels``."""

import functools
from collections.abc import Sequence
from typing import Any

import click

from spanplat.cli.database import open_database
from spanplat.cli.options import Command, filter_options, filters_of
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.metrics import RANKING_MEASURES
from spanplat.services.agreement.comparison import AgreementOptions
from spanplat.services.agreement.leaderboard import LeaderboardOptions, compute_leaderboard
from spanplat.services.agreement.leaderboard_report import OutputChoice, RankedFigure
from spanplat.services.agreement.matrix import compute_matrix
from spanplat.services.agreement.sentinels import compute_sentinels
from spanplat.services.agreement.systems import SystemsOptions, compute_systems
from spanplat.services.background.parallel import heavy_work
from spanplat.settings import load_settings

seed_option = click.option("--seed", type=int, default=42, show_default=True, help="Seed of everything random.")


def ranking_options(command: Command) -> Command:
    """Add the options of leaderboard and matrix; the command gets the measure, and all other options as ``options``."""

    @click.option(
        "--measure",
        type=click.Choice(list(RANKING_MEASURES)),
        default="char.hard",
        show_default=True,
        help="Measure to rank by.",
    )
    @click.option(
        "--ref-rule", default="first", show_default=True, help="Annotators of REF that count: first, each, or group=K."
    )
    @click.option(
        "--outputs",
        type=click.Choice(["shared", "several", "own"]),
        default="shared",
        show_default=True,
        help="Those that all completed; of these, those with several people; or for each what it shares with REF.",
    )
    @seed_option
    @filter_options
    @functools.wraps(command)
    def gather(
        *,
        ref_rule: str,
        outputs: OutputChoice,
        seed: int,
        categories: tuple[str, ...],
        systems: tuple[str, ...],
        splits: tuple[str, ...],
        datasets: tuple[str, ...],
        **others: Any,
    ) -> Any:
        filters = filters_of(categories=categories, systems=systems, splits=splits, datasets=datasets)
        return command(options=LeaderboardOptions(ref_rule, outputs, seed, filters=filters), **others)

    return gather


@click.command()
@click.argument("reference", metavar="REF")
@click.argument("campaigns", metavar="CAMPAIGN...", nargs=-1, required=True)
@ranking_options
@json_option
def leaderboard(
    *,
    reference: str,
    campaigns: Sequence[str],
    measure: str,
    options: LeaderboardOptions,
    as_json: bool,
) -> None:
    """Rank campaigns by how well they agree with REF; campaigns that share a cluster are not told apart."""
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        board = compute_leaderboard(database, reference, campaigns, options)
    if as_json:
        print_json(board.as_json())
        return
    last = len(campaigns) + 1  # campaigns without a rank, because their figure is undefined, come last
    entries = sorted(board.entries, key=lambda entry: entry.figures[measure].rank or last)
    rows: list[tuple[object, ...]] = [(entry.campaign, *_figures(entry.figures[measure])) for entry in entries]
    if board.human:
        people = board.human.figures[measure]
        rows.append(("people among themselves", people.value, people.low, people.high, None, None, people.outputs))
    print_table(("campaign", measure, "low", "high", "rank", "cluster", "outputs"), rows)
    note(f"signature: {board.signature}")


@click.command()
@click.argument("campaigns", metavar="CAMPAIGN CAMPAIGN...", nargs=-1, required=True)
@ranking_options
@json_option
def matrix(
    *,
    campaigns: Sequence[str],
    measure: str,
    options: LeaderboardOptions,
    as_json: bool,
) -> None:
    """Compare every campaign with every other; the earlier one is the reference."""
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        found = compute_matrix(database, campaigns, measure, options)
    if as_json:
        print_json(found.as_json())
        return
    names = [entry.campaign for entry in found.campaigns]
    rows = [
        (name, *(cell.value if cell else None for cell in row)) for name, row in zip(names, found.cells, strict=True)
    ]
    print_table((measure, *names), rows)
    note(f"signature: {found.signature}")


@click.command()
@click.argument("campaigns", metavar="CAMPAIGN...", nargs=-1, required=True)
@seed_option
@filter_options
@json_option
def systems(*, campaigns: Sequence[str], seed: int, as_json: bool, **filters: tuple[str, ...]) -> None:
    """Count the errors of the evaluated systems, and tell whether the campaigns rank them alike."""
    options = SystemsOptions(seed=seed, filters=filters_of(**filters))
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        report = compute_systems(database, campaigns, options)
    if as_json:
        print_json(report.as_json())
        return
    print_table(
        ("campaign", "system", "rank", "outputs", "errors per output", "error-free", "score"),
        [
            (
                *(one.campaign, system.system, system.rank, system.outputs),
                *(system.per_output.value, system.error_free.value, system.score.value),
            )
            for one in report.campaigns
            for system in one.systems
        ],
    )
    if report.agreement:
        click.echo()
        names = ("pearson", "spearman", "kendall", "ties")
        print_table(
            ("ranks the systems as the first does", "outputs", *names),
            [(one.campaign, one.outputs, *(one.figures[name] for name in names)) for one in report.agreement],
        )
    note(f"signature: {report.signature}")


@click.command()
@click.argument("reference", metavar="REF")
@click.argument("hypothesis", metavar="HYP")
@seed_option
@filter_options
@json_option
def sentinels(*, reference: str, hypothesis: str, seed: int, as_json: bool, **filters: tuple[str, ...]) -> None:
    """Show how measures behave on this very data when HYP is made worse on purpose."""
    options = AgreementOptions(seed=seed, filters=filters_of(**filters))
    settings = load_settings()
    with open_database(settings) as database, heavy_work(settings):
        found = compute_sentinels(database, reference, hypothesis, options)
    if as_json:
        print_json(found.as_json())
        return
    plots = {"characters added a side": found.wider, "probability that a span is left out": found.fewer}
    for title, points in plots.items():
        names = list(dict.fromkeys(point.series for point in points))
        values = {(point.x, point.series): point.y for point in points}
        steps = list(dict.fromkeys(point.x for point in points))
        print_table((title, *names), [(step, *(values[step, name] for name in names)) for step in steps])
        click.echo()
    rows = [(row.series, row.before, row.after) for row in found.removed]
    print_table(("outputs with one span emptied", "before", "after"), rows)
    note(f"signature: {found.signature}")


def _figures(figure: RankedFigure) -> tuple[object, ...]:
    return figure.value, figure.low, figure.high, figure.rank, figure.cluster, figure.outputs
