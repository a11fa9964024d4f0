"""Running model campaigns."""

from dataclasses import asdict

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, progress_bar
from spanplat.services.runs import RunReport, run_campaign


@click.command("run")
@click.argument("slug")
@click.option("--limit", type=click.IntRange(1), help="Ask about at most this many items.")
@click.option("--concurrency", type=click.IntRange(1), help="Questions at a time, in place of the definition's.")
@click.option("--dry-run", is_flag=True, help="Only count what would be asked.")
@click.option("--max-cost", type=click.FloatRange(0), help="US dollars at which to stop, in place of the definition's.")
@json_option
def run(
    *, slug: str, limit: int | None, concurrency: int | None, dry_run: bool, max_cost: float | None, as_json: bool
) -> None:
    """Ask a campaign's model about every item that has no answer yet.

    An interrupted run loses nothing; run it again to go on.
    """
    with open_database() as database, progress_bar("Asking") as on_progress:
        report = run_campaign(
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
    else:
        _show(report)


def _show(report: RunReport) -> None:
    if report.dry_run:
        click.echo(f"{report.campaign}: {report.left} items would be asked about.")
        return
    click.echo(
        f"{report.campaign}: asked about {report.asked} items, {report.spans} spans; {report.left} items left. "
        f"{report.input_tokens} + {report.output_tokens} tokens, {report.cost:.4f} US dollars."
    )
    if report.unplaced:
        note(f"{report.unplaced} spans have no place in their text; they are kept with their reasons.")
    for reason, count in report.failed.items():
        note(f"{count} items failed: {reason}")
