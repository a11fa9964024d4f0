"""The command group ``user``: accounts of researchers and administrators."""

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json
from spanplat.models import Role
from spanplat.services.accounts.second_factor import reset_second_factor
from spanplat.services.accounts.users import add_user, reset_password


@click.group()
def user() -> None:
    """Add people who may sign in."""


@user.command("add")
@click.argument("email")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="viewer looks, researcher runs campaigns, admin also manages people.",
)
@json_option
def add(email: str, role: str, as_json: bool) -> None:
    """Add a user and print the password, this once.

    EMAIL is the address to sign in with.
    """
    with open_database() as database, database.transaction() as session:
        added, password = add_user(session, email, role)
        email = added.email
    _show(email, password, {"role": role}, as_json)


@user.command("password")
@click.argument("email")
@json_option
def password(email: str, as_json: bool) -> None:
    """Give a user a new password and sign them out everywhere."""
    with open_database() as database, database.transaction() as session:
        new = reset_password(session, email)
    _show(email, new, {}, as_json)


@user.command("reset-second-factor")
@click.argument("email")
@json_option
def reset_second_factor_(email: str, as_json: bool) -> None:
    """Take away the second factor of somebody who lost it, and sign them out everywhere.

    From then on their password alone lets them in, until they set up another.
    """
    with open_database() as database, database.transaction() as session:
        email = reset_second_factor(session, email).email
    if as_json:
        print_json({"email": email})
    else:
        click.echo(f"{email} signs in with the password alone now.")


def _show(email: str, password: str, also: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json({"email": email, **also, "password": password})
        return
    click.echo(f"{email}  {password}")
    note("This password is shown only now; keep it in a password manager.")
