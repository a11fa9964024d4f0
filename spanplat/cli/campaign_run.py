"""The command ``campaign run``: run a model campaign."""

from dataclasses import asdict

import click

from spanplat.cli.campaign_prompt import tell_inputs
from spanplat.cli.database import open_database
from spanplat.cli.options import run_options
from spanplat.cli.output import json_option, note, print_json, progress_bar
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.prompt_inputs import inputs_state
from spanplat.services.model_work.estimates import Estimate
from spanplat.services.model_work.running import RunReport, run_campaign
from spanplat.text.counting import count_of


@click.command("run")
@click.argument("slug")
@run_options("campaign", "Ask about at most this many items.")
@json_option
def run(
    *, slug: str, limit: int | None, concurrency: int | None, dry_run: bool, max_cost: float | None, as_json: bool
) -> None:
    """Ask a campaign's model about every item that has no answer yet.

    An interrupted run loses nothing; run it again to go on, and to ask again about items that failed. Several machines may run
    the same campaign at once.
    """
    so_far = RunReport(slug)

    def note_report(report: RunReport) -> None:
        nonlocal so_far
        so_far = report

    with open_database() as database, database.reading() as session:
        definition = definition_of(find_campaign(session, slug))
        tell_inputs(definition, inputs_state(session, definition))
    # A function, because the bar asks for its details again at each step.
    with open_database() as database, progress_bar("Asking", lambda: _so_far(so_far)) as on_progress:
        report = run_campaign(
            database,
            slug,
            limit=limit,
            concurrency=concurrency,
            dry_run=dry_run,
            max_cost=max_cost,
            on_progress=on_progress,
            on_report=note_report,
        )
    if as_json:
        print_json(asdict(report))
    elif report.estimate is not None:
        show_estimate(
            f"{report.campaign}: {count_of(report.estimate.items, 'item')} would be asked about.", report.estimate
        )
    else:
        _show(report)


def _so_far(report: RunReport) -> str:
    """Return the speed, the number of failures and the cost so far, for the progress bar."""
    parts = [f"{report.asked / report.seconds * 60:,.0f} a minute"] if report.asked and report.seconds >= 1 else []
    if report.failed:
        parts.append(f"{sum(report.failed.values())} failed")
    if report.cost is None:
        parts.append("cost not known")
    elif report.cost:
        parts.append(f"${report.cost:.2f}" if report.cost >= 0.1 else f"${report.cost:.4f}")
    return f"({', '.join(parts)})" if parts else ""


def show_estimate(subject: str, estimate: Estimate) -> None:
    """Print the estimated tokens and cost of a run, after a line that names the run."""
    click.echo(subject)
    if estimate.cost == 0 and estimate.input_tokens == 0:
        click.echo("The model is offline and costs nothing.")
        return
    click.echo(
        f"About {estimate.input_tokens:,} tokens in and {estimate.output_tokens:,} out, "
        f"{'at a price that is not known' if estimate.cost is None else dollars(estimate.cost)}."
    )
    note(f"The tokens out are guessed from {estimate.output_from}.")
    if estimate.cost is None:
        note("Give model.price {input, output} in US dollars for a million tokens to know the cost, and to limit it.")


def _show(report: RunReport) -> None:
    click.echo(
        f"{report.campaign}: asked about {count_of(report.asked, 'item')}, {count_of(report.spans, 'span')}; "
        f"{count_of(report.left, 'item')} left. "
        f"{report.input_tokens:,} + {report.output_tokens:,} tokens, "
        f"{'cost not known' if report.cost is None else dollars(report.cost)}."
    )
    if report.seconds_per_1000 is not None:
        cost = "cost not known" if report.cost_per_1000 is None else dollars(report.cost_per_1000)
        click.echo(f"For 1,000 outputs: {cost}, {report.seconds_per_1000:.1f} seconds.")
    if report.cost is None:
        note(
            "The price of this model is not known; give model.price {input, output} in US dollars for a million tokens."
        )
    if report.maybe_billed:
        note(f"{report.maybe_billed} calls brought no reply and may have been billed all the same.")
    quotes = report.spans + report.unplaced
    if quotes:
        shares = [f"{rule} {100 * number / quotes:.1f} %" for rule, number in report.placed.items()]
        click.echo(f"Of {quotes} quotes: {', '.join([*shares, f'not placed {100 * report.unplaced / quotes:.1f} %'])}.")
    if report.unplaced:
        note(f"{report.unplaced} spans have no place in their text; they are kept with their reasons.")
    if report.failures:
        note("Failed: " + ", ".join(f"{count} × {kind}" for kind, count in report.failures.items()))
    for reason, count in report.failed.items():
        note(f"{count_of(count, 'item')} failed: {reason}")
    if report.failed:
        note(f"Ask again about those that failed: spanplat campaign run {report.campaign}")
    if report.stopped == "ceiling":
        note("The next call could cross the ceiling of cost, so the run stopped; raise it with --max-cost to go on.")
    elif report.stopped == "waiting":
        note(
            f"{report.batches} batches are with the provider; running again stores their results when they have ended."
        )
    elif report.stopped == "paused":
        note(f"The campaign was paused or closed; to go on: spanplat campaign open {report.campaign}")


def dollars(amount: float) -> str:
    """Format an amount of money; amounts below one dollar get four decimals."""
    return f"{amount:,.2f} US dollars" if amount >= 1 or amount == 0 else f"{amount:.4f} US dollars"
