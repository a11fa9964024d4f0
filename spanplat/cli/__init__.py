"""The command line. Each command parses its options, opens a transaction, calls one service and prints.

Exit status: 0 for success, 1 for a failure (the message on stderr says what failed and how to fix it), 2 for wrong usage.
"""

import importlib
from typing import Any

import click

from spanplat.errors import SpanplatError

COMMANDS = {
    "demo": "spanplat.cli.demo:demo",
    "init": "spanplat.cli.database:init",
    "serve": "spanplat.cli.serve:serve",
    "worker": "spanplat.cli.worker:worker",
    "user": "spanplat.cli.users:user",
    "dataset": "spanplat.cli.datasets:dataset",
    "campaign": "spanplat.cli.campaigns:campaign",
    "generation": "spanplat.cli.generations:generation",
    "study": "spanplat.cli.studies:study",
    "agreement": "spanplat.cli.agreement:agreement",
    "leaderboard": "spanplat.cli.comparing:leaderboard",
    "matrix": "spanplat.cli.comparing:matrix",
    "systems": "spanplat.cli.comparing:systems",
    "sentinels": "spanplat.cli.comparing:sentinels",
    "stats": "spanplat.cli.stats:stats",
    "qualify": "spanplat.cli.qualify:qualify",
    "pool": "spanplat.cli.qualify:pool",
    "export": "spanplat.cli.exports:export",
}
"""Module and function of each command. A module is imported only when its command is used, so that short commands start quickly."""
INTERNAL = {"web": "spanplat.cli.webserver:web"}
"""Commands that other commands start. The help does not list them."""


class Program(click.Group):
    """The group of all commands. It imports a command when it is used, and turns spanplat's errors into messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which a new user needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        place = COMMANDS.get(cmd_name) or INTERNAL.get(cmd_name)
        if place is None:
            return None
        module, attribute = place.split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; print the message of a `SpanplatError` and exit with status 1."""
        try:
            return super().invoke(ctx)
        except SpanplatError as error:
            raise click.ClickException(str(error)) from error


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="spanplat", prog_name="spanplat", message="%(prog)s %(version)s")
def main() -> None:
    """Annotate spans of text with people and language models under one protocol, and see how well they agree."""
