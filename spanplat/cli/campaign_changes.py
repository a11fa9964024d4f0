"""Commands that change a campaign after its launch: ``extend``, ``replace`` and ``amend``."""

from dataclasses import asdict
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.output import json_option, print_json
from spanplat.platforms.rules import Money
from spanplat.services.campaigns.amendments import amend, dotted, propose_amendment
from spanplat.services.campaigns.extending import ExtensionRequest, forecast_of, plan_extension
from spanplat.services.campaigns.extending import extend as extend_campaign
from spanplat.services.crowd.reviewing import replace_work
from spanplat.text.counting import count_of


@click.command()
@click.argument("slug")
@click.option("--per-output", type=click.FloatRange(1, 10_000), help="Annotators per output from now on.")
@click.option(
    "--add-outputs",
    "adds",
    is_flag=True,
    help="Add outputs that were imported since, or that the options below select.",
)
@click.option("--split", "splits", multiple=True, help="With --add-outputs: a further split; repeatable.")
@click.option("--system", "systems", multiple=True, help="With --add-outputs: a further system; repeatable.")
@click.option("--limit", type=click.IntRange(1), help="With --add-outputs: maximum number of outputs in all.")
@click.option("--dry-run", is_flag=True, help="Say what it would add and cost, and add nothing.")
@json_option
def extend(
    slug: str,
    *,
    per_output: float | None,
    adds: bool,
    splits: tuple[str, ...],
    systems: tuple[str, ...],
    limit: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Promise more annotators per output, or add outputs, while the campaign runs; existing work does not change."""
    if per_output is None and not adds:
        raise click.UsageError("say what to add: --per-output N, --add-outputs, or both")
    if (splits or systems or limit) and not adds:
        raise click.UsageError("--split, --system and --limit go with --add-outputs")
    requested = ExtensionRequest(per_output, adds, splits, systems, limit)
    with open_database() as database:
        with database.reading() as session:
            plan = plan_extension(session, slug, requested)
            forecast = forecast_of(session, slug, plan.extension)
        made = plan.extension if dry_run else extend_campaign(database, plan)
    costs = {"reward": forecast.reward, "bonus": forecast.bonus}
    if as_json:
        print_json({"slug": slug, "dry_run": dry_run, **asdict(made), **_amounts(costs)})
        return
    verb = "This would add" if dry_run else "Added"
    click.echo(
        f"{verb} to {slug}: {count_of(made.outputs, 'output')} in {count_of(made.batches, 'batch')}, {count_of(made.seats, 'seat')}."
    )
    for what, amount in costs.items():
        if amount is not None:
            most = "at most " if what == "bonus" else ""
            click.echo(
                f"{what.title()} for them: {most}{amount.currency}{amount.amount:,.2f}, without the platform's fees."
            )
    if made.without_suggestions:
        click.echo(f"{made.without_suggestions} of the items added have no suggestions.", err=True)


def _amounts(costs: dict[str, Money | None]) -> dict[str, dict[str, object] | None]:
    return {what: None if amount is None else asdict(amount) for what, amount in costs.items()}


@click.command()
@click.argument("slug")
@click.argument("annotator")
@click.option("--reason", required=True, help="Why; kept in the audit log.")
@json_option
def replace(slug: str, annotator: str, *, reason: str, as_json: bool) -> None:
    """Set the submitted work of an ANNOTATOR (pseudonym) aside and open their seats anew.

    The work is kept and is in no figure. This decides nothing about pay.
    """
    with open_database() as database, database.transaction() as session:
        replaced = replace_work(session, slug, annotator, reason)
    if as_json:
        print_json({"slug": slug, "annotator": annotator, "replaced": replaced})
    else:
        click.echo(f"{replaced} batches of {annotator} are set aside; their seats are open again.")


@click.command("amend")
@click.argument("slug")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--note", required=True, help="Why; kept with the amendment.")
@json_option
def amend_(slug: str, file: Path, *, note: str, as_json: bool) -> None:
    """Put the definition in FILE (YAML) in force in the campaign SLUG, as a dated amendment.

    Wording, time, pay and codes may change; categories, questions and the selection of data may not. Annotations saved from now on
    carry the amendment's number.
    """
    source = read_source(file)
    with open_database() as database, database.transaction() as session:
        changes = [dotted(path) for path in propose_amendment(session, slug, source).changes]
        made = amend(session, slug, source, note)
        number, sha256 = made.number, made.definition_sha256  # read while the session is open
    if as_json:
        print_json({"slug": slug, "amendment": number, "changes": changes, "definition_sha256": sha256})
    else:
        click.echo(f"Amendment {number} of {slug} is in force; it changes {', '.join(changes)}.")
