"""The command ``campaign reparse``: parse the stored replies of a model campaign again."""

from dataclasses import asdict

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, progress_bar
from spanplat.services.model_work.reparsing import ReparseReport, reparse_campaign

SHOWN = 10


@click.command("reparse")
@click.argument("slug")
@click.option("--dry-run", is_flag=True, help="Only tell what would change.")
@json_option
def reparse(*, slug: str, dry_run: bool, as_json: bool) -> None:
    """Parse a model campaign's stored replies again, and correct its annotations; the model is not asked.

    For replies stored by an earlier version, which parsed them differently. The audit log keeps the former annotations.
    """
    with open_database() as database, progress_bar("Reading") as on_progress:
        report = reparse_campaign(database, slug, dry_run=dry_run, on_progress=on_progress)
    if as_json:
        print_json(asdict(report))
    else:
        _show(report)


def _show(report: ReparseReport) -> None:
    verb = "changed" if report.applied else "would change"
    click.echo(
        f"{report.campaign}: {report.replies} replies read again, {report.unchanged} say what is stored, {report.changed} {verb}, "
        f"{report.newly_read} could not be read before."
    )
    if report.changed or report.newly_read:
        click.echo(
            f"Spans: {report.spans_added} added, {report.spans_removed} removed, {report.spans_moved} moved, "
            f"{report.spans_changed} changed otherwise."
        )
    for example in report.examples[:SHOWN]:
        _show_change(example)
    if len(report.examples) > SHOWN:
        note(f"… and {report.changed + report.newly_read - SHOWN} more; --json lists up to 50")
    for check in report.checks:
        passed = {True: "passed", False: "failed"}
        click.echo(f"Check {check.check!r} of item {check.item}: {passed[check.before]} → {passed[check.after]}")
    if report.seats_left_out or report.seats_taken_in:
        click.echo(
            f"By their checks {report.seats_left_out} seats are left out of figures that were in them, {report.seats_taken_in} are "
            "taken in again."
        )
    reasons = {**report.unplaced_before, **report.unplaced_after}
    for reason in reasons:
        before, after = report.unplaced_before.get(reason, 0), report.unplaced_after.get(reason, 0)
        click.echo(f"Without a place: {before} → {after}: {reason}")
    for reason, count in report.unreadable.items():
        note(f"{count} replies cannot be read: {reason}")
    if report.no_longer_readable:
        note(f"{report.no_longer_readable} replies can no longer be read; their annotations stay as they are.")
    if report.left_alone:
        note(
            f"{report.left_alone} annotations were changed by somebody else meanwhile and were left alone; run this again."
        )
    if not report.applied and (report.changed or report.newly_read):
        note("Nothing was changed; leave out --dry-run to do it.")


def _show_change(change: dict[str, object]) -> None:
    click.echo(f"item {change['item']}:")
    for sign, name in (("+", "added"), ("-", "removed")):
        for span in _listed(change[name]):
            click.echo(f"  {sign} {span['at']} “{span['text']}” {span['category']} ({span['rule']})")
    for pair in _listed(change["changed"]):
        before, after = pair["before"], pair["after"]
        click.echo(
            f"  ~ {before['at']} “{before['text']}” {before['category']} ({before['rule']}) → "
            f"{after['at']} “{after['text']}” {after['category']} ({after['rule']})"
        )


def _listed(value: object) -> list[dict[str, dict[str, str]]]:
    return value if isinstance(value, list) else []
