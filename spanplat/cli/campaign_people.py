"""Commands about the people of a campaign: check the platform's rules, list visits, write the files for pay."""

from dataclasses import asdict
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.errors import Conflict
from spanplat.platforms.rules import Finding, lint
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import validate_definition
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.pay import bonus_file, list_people, pay_figures, pay_file
from spanplat.services.crowd.reviewing import approvals_file, rejections_file

OWNER_ONLY = 0o600


@click.command("lint")
@click.argument("campaign")
@json_option
def lint_(campaign: str, as_json: bool) -> None:
    """Check a CAMPAIGN (a slug, or a definition file) against the platform's rules."""
    if Path(campaign).is_file():  # a file wins over a slug of the same name; slugs have no dots, so that is rare
        definition = validate_definition(read_source(Path(campaign)))
    else:
        with open_database() as database, database.reading() as session:
            definition = definition_of(find_campaign(session, campaign))
    findings = lint(definition)
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    for finding in findings:
        click.echo(_in_words(finding))
    if not findings:
        click.echo("It breaks none of the platform's rules.")


def tell_findings(definition: CampaignDefinition) -> None:
    """Print the findings of the platform's rules on stderr."""
    for finding in lint(definition):
        note(_in_words(finding))


def require_lawful(definition: CampaignDefinition, *, confirmed: bool) -> None:
    """Check that the platform's rules allow a campaign to open, and print the other findings.

    Raises
    ------
    Conflict
        If the rules refuse something, or something needs a confirmation that was not given.
    """
    findings = lint(definition)
    refused = [finding for finding in findings if finding.weight == "refuse"]
    unsaid = [finding for finding in findings if finding.weight == "confirm" and not confirmed]
    if refused or unsaid:
        way_out = "mend the definition" if refused else "open it with --confirm if this is meant"
        told = "\n".join(_in_words(finding) for finding in [*refused, *unsaid])
        raise Conflict(f"{definition.slug} was not opened; {way_out}:\n{told}")
    for finding in findings:
        note(_in_words(finding))


def _in_words(finding: Finding) -> str:
    source = finding.source
    return f"{finding.weight}: {finding.path}: {finding.message} ({source.title}, {source.url}, read {source.read.isoformat()})"


@click.command()
@click.argument("slug")
@json_option
def people(slug: str, as_json: bool) -> None:
    """List the participants by pseudonym: outcome, duration, failed checks."""
    with open_database() as database, database.reading() as session:
        campaign = find_campaign(session, slug)
        rows = list_people(session, campaign)
        figures = pay_figures(campaign, rows)
    if as_json:
        print_json({"figures": asdict(figures), "people": [asdict(row) for row in rows]})
        return
    header = ("annotator", "group", "outcome", "minutes", "checks", "passed", "failed", "bonus", "left out")
    print_table(
        header,
        [
            (p.pseudonym, p.group, p.outcome, p.minutes, p.checks, p.passed, " ".join(p.failed), p.bonus, p.excluded)
            for p in rows
        ],
    )
    if figures.median_minutes is not None:
        hourly = f", {figures.hourly.currency}{figures.hourly.amount:.2f} an hour" if figures.hourly else ""
        click.echo(
            f"{figures.submitted} submitted; the median batch took {figures.median_minutes:.1f} minutes{hourly}."
        )


@click.command()
@click.argument("slug")
@click.option("--output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
@click.option("--bonuses", is_flag=True, help="Only the bonuses, in the platform's format.")
@click.option("--approvals", is_flag=True, help="Work to approve, in the platform's format.")
@click.option("--rejections", is_flag=True, help="Work that the platform's rules let you reject, with reasons.")
def pay(slug: str, *, output: Path, bonuses: bool, approvals: bool, rejections: bool) -> None:
    """Write the payments of people by the platform's ids to a file that only you may read.

    Work is approved on Prolific by a list of ids, one a line, and on MTurk by a file of reviewed results. Look at each line of
    --rejections before you use it: these are the people who failed as many attention checks as the rules ask for, and nobody else.
    """
    if bonuses + approvals + rejections > 1:
        raise click.UsageError("ask for one of --bonuses, --approvals and --rejections at a time")
    write = bonus_file if bonuses else approvals_file if approvals else rejections_file if rejections else pay_file
    with open_database() as database, database.reading() as session:
        content = write(session, find_campaign(session, slug))
    try:
        # Both before the first byte is written: `touch` sets the mode of a new file only.
        output.touch(mode=OWNER_ONLY)
        output.chmod(OWNER_ONLY)
        output.write_text(content, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {output} ({error.strerror})") from error
    lines = len(content.splitlines())
    click.echo(f"Wrote {lines} lines to {output}. It names people by their platform ids: do not publish it.")
