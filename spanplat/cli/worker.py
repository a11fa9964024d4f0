"""The command ``worker``: run a background worker."""

import click

from spanplat.cli.database import open_database
from spanplat.cli.supervisor import keep_what_is_loaded, log_to_stderr, stop_with_parent
from spanplat.settings import load_settings
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.process import run_worker


@click.command()
@click.option("--supervised", is_flag=True, hidden=True, help="Stop when standard input closes.")
def worker(supervised: bool) -> None:
    """Run a background worker alone, for instance on another machine.

    It does the work that pages and commands ask for: runs of models and agreement figures.
    """
    log_to_stderr()
    if supervised:  # otherwise standard input need not be a pipe; under systemd it is at its end from the start
        stop_with_parent()
    settings = load_settings()
    keep_what_is_loaded()
    with open_database(settings, actor="worker") as database:
        run_worker(settings, database, HANDLERS)
