"""The command ``init``, and a function that opens the database for the other commands."""

import contextlib
from collections.abc import Iterator

import click

from spanplat.cli.first_user import add_first_user
from spanplat.cli.output import json_option, note, print_json
from spanplat.db import Database
from spanplat.db.schema import SchemaState, initialise, inspect_schema, require_current
from spanplat.settings import Settings, load_settings


@contextlib.contextmanager
def open_database(settings: Settings | None = None, *, actor: str = "cli") -> Iterator[Database]:
    """Open the database of the settings; it must exist and have the schema of this version.

    The audit log records ``actor`` as the author of all changes.
    """
    settings = settings or load_settings()
    # SQLite creates a missing file when it is opened: a mistyped SPANPLAT_HOME would give an empty database.
    if not settings.database_url and not (settings.home / "spanplat.sqlite3").exists():
        raise click.ClickException(
            f"there is no database in {settings.home} yet; create it with: spanplat init (or set SPANPLAT_HOME to where it is)"
        )
    database = Database(settings.database, actor=actor)
    try:
        require_current(database)
        yield database
    finally:
        database.dispose()


@click.command()
@click.option("--admin", metavar="EMAIL", help="Add the first user, and print the password, this once.")
@json_option
def init(admin: str | None, as_json: bool) -> None:
    """Create the database, or upgrade it to this version.

    Running it again changes nothing, nor does --admin once there is a user.
    The database is a SQLite file in SPANPLAT_HOME unless SPANPLAT_DATABASE_URL names another.
    """
    settings = load_settings()
    settings.make_home()
    # Not `open_database`, which refuses a database that needs an upgrade.
    database = Database(settings.database, actor="cli")
    try:
        before = initialise(database)
        after = inspect_schema(database)
        password = add_first_user(database, admin) if admin is not None else None
        place = database.engine.url.render_as_string(hide_password=True)
    finally:
        database.dispose()
    if as_json:
        user = {"email": admin, "password": password} if password is not None else None
        print_json({"database": place, "before": before.present, "after": after.present, "user": user})
        return
    _show(place, before, after)
    if password is not None:
        click.echo(f"Sign in with {admin}  {password}   (shown only now)")
    elif admin is not None:
        note("There are users already, so none was added; add one with: spanplat user add EMAIL --role admin")


def _show(place: str, before: SchemaState, after: SchemaState) -> None:
    if before.present is None:
        click.echo(f"Created {place}.")
    elif before.is_current:
        click.echo(f"{place} is up to date.")
    else:
        click.echo(f"Upgraded {place} from {before.present} to {after.present}.")
