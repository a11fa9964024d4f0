"""Campaigns: creating them from files, and letting people in."""

import json
from pathlib import Path

import click

from spanplat import paths
from spanplat.cli.campaign_import import import_
from spanplat.cli.campaign_run import run
from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.errors import NotFound
from spanplat.models import Campaign, CampaignStatus
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import DefinitionSource, parse_yaml
from spanplat.services.campaigns import (
    clone_campaign,
    create_campaign,
    find_campaign,
    list_campaigns,
    set_status,
    start_link,
)
from spanplat.services.plans import CampaignPlan, check_definition
from spanplat.settings import load_settings

DEFAULT_ADDRESS = "http://127.0.0.1:8000"


@click.group()
def campaign() -> None:
    """Create campaigns, let people in, and see how far they are."""


campaign.add_command(import_)
campaign.add_command(run)


@campaign.command("create")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Check the file and show what it would make; create nothing.")
@json_option
def create(file: Path, dry_run: bool, as_json: bool) -> None:
    """Create a campaign from a definition FILE (YAML).

    The campaign starts as a draft; let people in with: spanplat campaign open SLUG
    """
    source = _read(file)
    with open_database() as database:
        with database.reading() as session:
            plan = check_definition(session, source)
        if not dry_run:
            with database.transaction() as session:
                create_campaign(session, plan)
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
    if plan.definition.kind == "llm":
        note(f"Next: spanplat campaign run {slug} --dry-run")
    else:
        note(f"Next: spanplat campaign open {slug}")


def _read(file: Path) -> DefinitionSource:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    return parse_yaml(text, name=str(file))


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
    @campaign.command(name, help=help_text)
    @click.argument("slug")
    @json_option
    def change(slug: str, as_json: bool) -> None:
        with open_database() as database, database.transaction() as session:
            changed = set_status(session, slug, status)
        if as_json:
            print_json({"slug": changed.slug, "status": str(changed.status)})
        else:
            click.echo(f"{slug} is {status}.")
        if status == CampaignStatus.OPEN and changed.kind != "llm":
            note(f"The link for annotators: {start_link(changed, _base_url(None))}")


_status_command("open", CampaignStatus.OPEN, "Let people in.")
_status_command("pause", CampaignStatus.PAUSED, "Let nobody new in for now; those who have begun may finish.")
_status_command("close", CampaignStatus.CLOSED, "End a campaign: nobody new comes in, those who have begun may finish.")


@campaign.command("links")
@click.argument("slug")
@click.option("--base-url", help=f"Public address; by default SPANPLAT_BASE_URL, else {DEFAULT_ADDRESS}.")
@json_option
def links(slug: str, base_url: str | None, as_json: bool) -> None:
    """Print the link that annotators follow, with the recruiting platform's placeholders."""
    with open_database() as database, database.reading() as session:
        found = find_campaign(session, slug)
        document = {"slug": slug, "status": str(found.status), "start": start_link(found, _base_url(base_url))}
    if as_json:
        print_json(document)
    else:
        click.echo(document["start"])
    if found.status != CampaignStatus.OPEN:
        note(f"The campaign is {found.status}; let people in with: spanplat campaign open {slug}")


def _base_url(given: str | None) -> str:
    return given or load_settings().base_url or DEFAULT_ADDRESS


@campaign.command("clone")
@click.argument("slug")
@click.argument("new")
@json_option
def clone(slug: str, new: str, as_json: bool) -> None:
    """Create a campaign NEW with the definition of SLUG, without its annotations."""
    with open_database() as database, database.transaction() as session:
        made: Campaign = clone_campaign(session, slug, new)
    if as_json:
        print_json({"slug": made.slug, "cloned_from": slug, "status": str(made.status)})
    else:
        click.echo(f"Created {made.slug} with the definition of {slug}.")


@campaign.command("schema")
def schema() -> None:
    """Print the JSON Schema of campaign definitions, for editors that complete and check them."""
    click.echo(definition_schema(), nl=False)


def definition_schema() -> str:
    """Return the JSON Schema of campaign definitions as it ships in campaigns/definition.schema.json."""
    document = CampaignDefinition.model_json_schema()
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **document}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


@campaign.command("starter")
@click.argument("name", required=False)
@json_option
def starter(name: str | None, as_json: bool) -> None:
    """Print a starter definition to adapt, or list those there are.

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
