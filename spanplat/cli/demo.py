"""The command ``demo``: start a platform with sample data."""

import os
import shutil
import sys
from pathlib import Path

import click

from spanplat.cli.agreement import agreement_rows
from spanplat.cli.first_user import add_first_user
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.cli.serve import DEFAULT_PORT, default_processes, require_free, start_serving
from spanplat.db import Database
from spanplat.db.schema import initialise
from spanplat.services.agreement.comparison import compute_agreement
from spanplat.services.campaigns.lifecycle import find_campaign, start_link
from spanplat.services.demo import COMPARISONS, PEOPLE, load_demo
from spanplat.settings import Settings, load_settings

DEMO_HOME = "spanplat-demo"
DEMO_USER = "demo@example.org"
HOST = "127.0.0.1"


@click.command()
@click.option("--serve/--no-serve", "serving", default=True, help="Serve when everything is loaded, or stop there.")
@click.option("--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True)
@json_option
def demo(serving: bool, port: int, as_json: bool) -> None:
    """Load the shipped demo, run its model campaign offline, print the agreement, and serve.

    Everything goes to ./spanplat-demo, or to SPANPLAT_HOME where that is set. Running it again changes nothing.
    """
    os.environ.setdefault("SPANPLAT_HOME", DEMO_HOME)  # for the processes that serve, too
    settings = load_settings()
    if serving:
        require_free(HOST, port)  # before the data are loaded, which takes about a minute
    settings.make_home()
    address = settings.base_url.rstrip("/") or f"http://{HOST}:{port}"
    database = Database(settings.database, actor="cli")
    try:
        initialise(database)
        note(f"Loading the demo into {Path(settings.home).resolve()} …")
        load_demo(database)
        reports = [compute_agreement(database, reference, hypothesis) for reference, hypothesis in COMPARISONS]
        password = add_first_user(database, DEMO_USER)
        with database.reading() as session:
            link = start_link(find_campaign(session, PEOPLE), address)
    finally:
        database.dispose()
    if as_json:
        user = {"email": DEMO_USER, "password": password}
        print_json(
            {
                "home": str(settings.home),
                "agreement": [report.as_json() for report in reports],
                "user": user,
                "annotate": link,
                "sign_in": address,
            }
        )
    else:
        header, rows = agreement_rows(reports)
        print_table(header, rows)
        _show_addresses(settings, link, address, password)
    if serving:
        note("")
        start_serving(HOST, port, default_processes())


def _show_addresses(settings: Settings, link: str, address: str, password: str | None) -> None:
    click.echo()
    click.echo(f"Annotate:        {link}")
    click.echo(f"Campaigns:       {address}/")
    if password is not None:
        click.echo(f"Sign in with:    {DEMO_USER}  {password}   (shown only now)")
    else:
        click.echo("Sign in with the password shown at the first start;")
        # `make demo` runs the program of a virtual environment that need not be on the PATH.
        program = "spanplat" if shutil.which("spanplat") else sys.argv[0]
        click.echo(f"for a new one:   SPANPLAT_HOME={settings.home} {program} user password {DEMO_USER}")
