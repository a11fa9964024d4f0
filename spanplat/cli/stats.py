"""The command ``stats``: statistics of one campaign."""

from dataclasses import asdict
from typing import Any

import click

from spanplat.cli.database import open_database
from spanplat.cli.options import filter_options, filters_of
from spanplat.cli.output import json_option, print_json, print_table
from spanplat.services.agreement.statistics import campaign_statistics


@click.command()
@click.argument("slug")
@click.option(
    "--rule", default="each", show_default=True, help="Annotators that count on each output: each, first, group=K."
)
@filter_options
@json_option
def stats(slug: str, rule: str, as_json: bool, **filters: tuple[str, ...]) -> None:
    """Count a campaign's annotations and spans, by category."""
    with open_database() as database, database.reading() as session:
        document = asdict(campaign_statistics(session, slug, rule=rule, filters=filters_of(**filters)))
    if as_json:
        print_json(document)
        return
    print_table(("figure", slug), _figures(document))
    categories: dict[str, dict[str, Any]] = document["categories"]
    if categories:
        click.echo()
        columns = list(next(iter(categories.values())))
        print_table(("category", *columns), [(name, *values.values()) for name, values in categories.items()])


def _figures(document: dict[str, Any]) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for name, value in document.items():
        if name == "categories":
            continue
        if isinstance(value, dict):
            rows.extend((f"{name} {part}", figure) for part, figure in value.items())
        else:
            rows.append((name, value))
    return rows
