"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

from spanplat.services.agreement.sides import Filters

Command = Callable[..., Any]


class Assignments(click.ParamType[tuple[str, str]]):
    """Values of the form ``LEFT=RIGHT``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first equals sign."""
        if isinstance(value, tuple):
            return value
        left, equals, right = str(value).partition("=")
        if not (left.strip() and equals and right.strip()):
            self.fail(f"{value!r} does not have the form {self.name}", param, ctx)
        return left.strip(), right.strip()


rename_option = click.option(
    "--rename-system",
    "renames",
    type=Assignments("OLD=NEW"),
    multiple=True,
    help="A system that is called NEW here and OLD in the files; repeatable.",
)


def run_options(subject: str, limit: str | None = None) -> Callable[[Command], Command]:
    """Add the options that limit a model run; ``limit`` is the help of ``--limit``, which is left out without it."""
    options = [
        click.option(
            "--concurrency", type=click.IntRange(1), help="Questions at a time, in place of the definition's."
        ),
        click.option("--dry-run", is_flag=True, help="Only estimate tokens and cost."),
        click.option(
            "--max-cost",
            type=click.FloatRange(0),
            help=f"US dollars that the {subject} may cost in all, in place of the definition's.",
        ),
    ]
    if limit is not None:
        options.insert(0, click.option("--limit", type=click.IntRange(1), help=limit))

    def add(command: Command) -> Command:
        for option in reversed(options):  # click lists the option that was added last first
            command = option(command)
        return command

    return add


def filter_options(command: Command) -> Command:
    """Add the options that filter spans and outputs."""
    for name, parameter, help_text in (
        ("--category", "categories", "Only spans of this category"),
        ("--system", "systems", "Only outputs of this system"),
        ("--split", "splits", "Only this split"),
        ("--dataset", "datasets", "Only this dataset"),
    ):
        command = click.option(name, parameter, multiple=True, help=f"{help_text}; repeatable.")(command)
    return command


def filters_of(
    datasets: tuple[str, ...], splits: tuple[str, ...], systems: tuple[str, ...], categories: tuple[str, ...]
) -> Filters:
    """Return the filters of the options."""
    return Filters(datasets=datasets, splits=splits, systems=systems, categories=categories)
