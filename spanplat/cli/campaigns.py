"""The command group ``campaign``: create campaigns from files, open them, and show their state."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from spanplat import paths
from spanplat.cli.campaign_changes import amend_, extend, replace
from spanplat.cli.campaign_ensemble import ensemble
from spanplat.cli.campaign_import import import_
from spanplat.cli.campaign_people import lint_, pay, people, require_lawful, tell_findings
from spanplat.cli.campaign_prompt import prompt, protocols
from spanplat.cli.campaign_reparse import reparse
from spanplat.cli.campaign_run import run
from spanplat.cli.campaign_training import training
from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.errors import NotFound
from spanplat.models import CampaignStatus
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import parse_yaml
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.launching import open_campaign, store_campaign
from spanplat.services.campaigns.lifecycle import (
    find_campaign,
    list_campaigns,
    plan_clone,
    require_allowed,
    set_status,
    start_link,
)
from spanplat.services.campaigns.planning import CampaignPlan, check_definition
from spanplat.services.campaigns.suggestions import explain_suggestions
from spanplat.services.crowd.check_report import report_checks
from spanplat.services.crowd.participation import invite
from spanplat.settings import load_settings

DEFAULT_ADDRESS = "http://127.0.0.1:8000"


@click.group()
def campaign() -> None:
    """Create campaigns, let people in, and see how far they are."""


campaign.add_command(import_)
campaign.add_command(run)
campaign.add_command(amend_)
campaign.add_command(extend)
campaign.add_command(lint_)
campaign.add_command(people)
campaign.add_command(pay)
campaign.add_command(replace)
campaign.add_command(prompt)
campaign.add_command(protocols)
campaign.add_command(ensemble)
campaign.add_command(reparse)
campaign.add_command(training)


@campaign.command("create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check the file and show what it would make; create nothing.")
@json_option
def create(file: Path, dry_run: bool, as_json: bool) -> None:
    """Create a campaign from a definition FILE (YAML).

    The campaign starts as a draft; let people in with: spanplat campaign open SLUG
    """
    source = read_source(file)
    with open_database() as database:
        with database.reading() as session:
            plan = check_definition(session, source)
        require_allowed(plan.definition)
        # Planning reads much and may take long, so it is done before the write transaction begins.
        said: list[str] = []
        if not dry_run:
            made = store_campaign(database, plan)
            with database.reading() as session:
                said = explain_suggestions(session, made)
    for sentence in said:
        note(sentence)
    figures = _figures(plan)
    slug = plan.definition.slug
    if as_json:
        print_json({"slug": slug, "created": not dry_run, **figures})
        return
    shown = ", ".join(f"{count} {name}" for name, count in figures.items())
    if dry_run:
        click.echo(f"{file} is valid; {slug} would have {shown}.")
        return
    click.echo(f"Created {slug}: {shown}.")
    tell_findings(plan.definition)
    if plan.definition.kind == "llm":
        note(f"Next: spanplat campaign run {slug} --dry-run")
    else:
        note(f"Next: spanplat campaign open {slug}")


def _figures(plan: CampaignPlan) -> dict[str, int]:
    return {"items": len(plan.items), "batches": len(plan.batches), "seats": sum(len(seats) for seats in plan.seats)}


@campaign.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List all campaigns, newest first."""
    with open_database() as database, database.reading() as session:
        rows = [(entry.slug, entry.kind, str(entry.status), entry.title) for entry in list_campaigns(session)]
    header = ("slug", "kind", "status", "title")
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif rows:
        print_table(header, rows)
    else:
        note("There is no campaign yet; create one with: spanplat campaign create FILE.yaml")


@campaign.command("show")
@click.argument("slug")
@json_option
def show(slug: str, as_json: bool) -> None:
    """Show a campaign's definition and status."""
    with open_database() as database, database.reading() as session:
        found = find_campaign(session, slug)
        document = {
            "slug": found.slug,
            "title": found.title,
            "kind": found.kind,
            "status": str(found.status),
            "definition_sha256": found.definition_sha256,
            "definition": found.definition,
        }
    if as_json:
        print_json(document)
        return
    for name in ("slug", "title", "kind", "status"):
        click.echo(f"{name}: {document[name]}")


def _status_command(name: str, status: CampaignStatus, help_text: str) -> None:
    # One function for three commands. Only `open` can need a confirmation, so the others hide the option.
    @campaign.command(name, help=help_text)
    @click.argument("slug")
    @click.option(
        "--confirm",
        is_flag=True,
        hidden=status != CampaignStatus.OPEN,
        help="Open although the platform's rules ask whether this is meant.",
    )
    @json_option
    def change(slug: str, confirm: bool, as_json: bool) -> None:
        said: list[str] = []
        with open_database() as database:
            if status == CampaignStatus.OPEN:
                with database.reading() as session:
                    require_lawful(definition_of(find_campaign(session, slug)), confirmed=confirm)
                changed = open_campaign(database, slug)
                with database.reading() as session:
                    said = explain_suggestions(session, changed)
            else:
                with database.transaction() as session:
                    changed = set_status(session, slug, status)
        if as_json:
            print_json({"slug": changed.slug, "status": str(changed.status)})
        else:
            click.echo(f"{slug} is {status}.")
        for sentence in said:
            note(sentence)
        if status == CampaignStatus.OPEN and changed.kind != "llm":
            note(f"The link for annotators: {start_link(changed, _base_url(None))}")


_status_command("open", CampaignStatus.OPEN, "Let people in.")
_status_command("pause", CampaignStatus.PAUSED, "Let nobody new in for now; those who have begun may finish.")
_status_command("close", CampaignStatus.CLOSED, "End a campaign: nobody new comes in, those who have begun may finish.")


@campaign.command("links")
@click.argument("slug")
@click.option("--base-url", help=f"Public address; by default SPANPLAT_BASE_URL, else {DEFAULT_ADDRESS}.")
@click.option("--for", "names", multiple=True, metavar="NAME", help="Make a personal link for this expert; repeatable.")
@json_option
def links(slug: str, base_url: str | None, names: tuple[str, ...], as_json: bool) -> None:
    """Print the link that annotators follow, with the recruiting platform's placeholders, or personal links.

    A personal link leads its bearer, and nobody else, to their own work; the same name gets the same link again.
    """
    with open_database() as database:
        with database.reading() as session:
            found = find_campaign(session, slug)
        start = start_link(found, _base_url(base_url))
        document: dict[str, Any] = {"slug": slug, "status": str(found.status), "start": start}
        if names:
            with database.transaction() as session:
                campaign = find_campaign(session, slug)  # again, because objects belong to one session
                tokens = {name: invite(session, campaign, name, datetime.now(UTC)) for name in names}
            document["personal"] = {name: f"{start}?invitation={token}" for name, token in tokens.items()}
    if as_json:
        print_json(document)
    elif names:
        print_table(("name", "link"), list(document["personal"].items()))
    else:
        click.echo(start)
    if found.status != CampaignStatus.OPEN:
        note(f"The campaign is {found.status}; let people in with: spanplat campaign open {slug}")


def _base_url(given: str | None) -> str:
    return given or load_settings().base_url or DEFAULT_ADDRESS


@campaign.command("checks")
@click.argument("slug")
@json_option
def checks(slug: str, as_json: bool) -> None:
    """Show how often each check was passed, and how often each part of it was right."""
    with open_database() as database, database.reading() as session:
        report = report_checks(session, find_campaign(session, slug))
    if as_json:
        print_json(asdict(report))
        return
    if not report.checks:
        note("No check was answered yet.")
        return
    parts = list(dict.fromkeys(part for check in report.checks for part in check.parts))
    header = ("check", "kind", "on fail", "results", "passed", "rate", *parts)
    rows = [
        (c.name, c.kind, c.on_fail, c.results, c.passed, c.rate, *(c.parts.get(part) for part in parts))
        for c in report.checks
    ]
    print_table(header, rows)
    for kind, p in report.group_differences.items():
        shares = ", ".join(
            f"{group} {kinds[kind][1]} of {kinds[kind][0]}"
            for group, kinds in sorted(report.by_group.items())
            if kind in kinds
        )
        told = "nothing to test" if p is None else f"p = {p:.3g}"
        click.echo(f"{kind} passed by group: {shares} (difference: {told}).")
    click.echo(
        f"{report.excluded} batches are left out of every figure; {report.screened_out} people were screened out."
    )


@campaign.command("clone")
@click.argument("slug")
@click.argument("new")
@json_option
def clone(slug: str, new: str, as_json: bool) -> None:
    """Create a campaign NEW with the definition of SLUG, without its annotations."""
    with open_database() as database:
        with database.reading() as session:
            plan = plan_clone(session, slug, new)
        made = store_campaign(database, plan)
    if as_json:
        print_json({"slug": made.slug, "cloned_from": slug, "status": str(made.status)})
    else:
        click.echo(f"Created {made.slug} with the definition of {slug}.")


@campaign.command("schema")
def schema() -> None:
    """Print the JSON Schema of campaign definitions, for editors that complete and check them."""
    click.echo(definition_schema(), nl=False)


def definition_schema() -> str:
    """Return the JSON Schema of campaign definitions, as in the file campaigns/definition.schema.json."""
    document = CampaignDefinition.model_json_schema()
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


@campaign.command("starter")
@click.argument("name", required=False)
@json_option
def starter(name: str | None, as_json: bool) -> None:
    """Print a starter definition to adapt, or list all starters.

    For instance: spanplat campaign starter data-to-text-errors > my-campaign.yaml
    """
    files = {file.stem: file for file in sorted((paths.CAMPAIGNS / "starters").glob("*.yaml"))}
    if name is None:
        titles = [
            (stem, str(parse_yaml(file.read_text("utf-8"), name=stem).value["title"])) for stem, file in files.items()
        ]
        if as_json:
            print_json([{"name": stem, "title": title} for stem, title in titles])
        else:
            print_table(("name", "title"), titles)
        return
    if name not in files:
        raise NotFound(f"there is no starter {name!r} (starters: {', '.join(files)})")
    text = files[name].read_text("utf-8")
    if as_json:
        print_json({"name": name, "definition": text})
    else:
        click.echo(text, nl=False)
