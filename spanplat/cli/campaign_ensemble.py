"""The command ``campaign ensemble``: combine several campaigns into one."""

from dataclasses import asdict
from typing import get_args

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, print_table, progress_bar
from spanplat.metrics.ratings import Aggregation
from spanplat.services.model_work.ensembles.combining import EnsembleSettings
from spanplat.services.model_work.ensembles.filling import EnsembleReport, fill_ensemble
from spanplat.text.counting import count_of


@click.command("ensemble")
@click.argument("slug")
@click.option(
    "--of",
    "members",
    multiple=True,
    required=True,
    help="Campaign whose annotators are members, or one of them (CAMPAIGN#2: a model's second repeat); repeatable.",
)
@click.option("--title", help="Title of the new campaign.")
@click.option(
    "--aggregation",
    type=click.Choice(get_args(Aggregation)),
    default="mean",
    show_default=True,
    help="Aggregation of the annotators' scores.",
)
@click.option("--question", help="Question whose scores show outliers; by default the first on a scale.")
@click.option(
    "--least-overlap",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Share of the shorter passage that two errors must have in common to be one.",
)
@click.option(
    "--least-votes",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Annotators that must have found an error.",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Errors kept for each text, the most severe first.",
)
@click.option("--reference", help="Campaign with whose scores ensembles of every size are correlated.")
@click.option("--dry-run", is_flag=True, help="Only report how the annotators agree; create nothing.")
@json_option
def ensemble(
    *,
    slug: str,
    members: tuple[str, ...],
    title: str | None,
    aggregation: Aggregation,
    question: str | None,
    least_overlap: float,
    least_votes: int,
    most: int,
    reference: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Combine the annotations of several campaigns into a new campaign SLUG.

    Scores are averaged over all annotators, choices go by majority, errors are merged where they overlap. If an
    annotator's score of a text is an outlier, their errors in this text are left out.
    """
    settings = EnsembleSettings(aggregation, question, least_overlap, least_votes, most)
    with open_database() as database, progress_bar("Combining") as on_progress:
        report = fill_ensemble(
            database,
            slug,
            members,
            settings=settings,
            reference=reference,
            title=title,
            dry_run=dry_run,
            on_progress=on_progress,
        )
    if as_json:
        print_json(asdict(report))
    else:
        _show(report)


def _show(report: EnsembleReport) -> None:
    verb = "Created" if report.written else "Would create"
    click.echo(
        f"{verb} {report.campaign} of {count_of(len(report.annotators), 'annotator')}: {count_of(report.items, 'item')}, "
        f"{count_of(report.spans, 'span')}; "
        f"errors left out {count_of(report.withheld, 'time')} because a score was out of line."
    )
    if report.incomplete:
        note(f"{report.incomplete} items were not judged by every annotator.")
    for question, number in report.undecided.items():
        note(f"{number} items have no majority on {question}, and no answer to it.")
    if report.pairs:
        click.echo(f"\nAgreement on {report.question}:")
        names = ("first", "second", "items", "spearman", "kappa")
        print_table(names, [[pair[name] for name in names] for pair in report.pairs])
        click.echo(
            f"\nEach annotator (the spread of scores on one item is {report.score_spread:.3f} on average):"
            if report.score_spread is not None
            else "\nEach annotator:"
        )
        shares = [(name, report.spans_by_annotator.get(name), share) for name, share in report.outlier_shares.items()]
        print_table(("annotator", "spans per item", "share of scores out of line"), shares)
    if len(report.outlier_shares_by_dataset) > 1:  # with one dataset, the table would repeat the last column above
        click.echo("\nShare of scores out of line, by dataset:")
        datasets = report.outlier_shares_by_dataset
        rows = [(name, *(datasets[dataset].get(name) for dataset in datasets)) for name in report.outlier_shares]
        print_table(("annotator", *datasets), rows)
    if report.by_size:
        click.echo("\nSpearman's ρ with the reference, by number of annotators:")
        columns = ("size", "subsets", "mean", "lowest", "highest")
        print_table(columns, [[figures[name] for name in columns] for figures in report.by_size])
