"""The commands ``qualify`` and ``pool``: scores of a qualification, and pools of qualified people."""

from datetime import UTC, datetime
from typing import Any, TextIO

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, note, print_json, print_table
from spanplat.schemas.platform import QualificationGiven
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.pools import SOURCES, add_people, list_members, list_pools, remove_from_pool
from spanplat.services.crowd.qualifying import qualification_table, record_decisions


@click.command()
@click.argument("slug")
@click.option("--reference", help="Campaign with the expected annotations, in place of the definition's gold checks.")
@click.option("--measure", help="Agreement measure whose main figure is the score, in place of the definition's.")
@click.option(
    "--hard/--soft", "hard", default=None, help="Whether categories must match, in place of the definition's."
)
@click.option("--threshold", type=click.FloatRange(0, 1), help="Pass above this score.")
@click.option("--top", type=click.IntRange(1), help="Maximum number of people who pass, the best first.")
@click.option("--with", "models", multiple=True, metavar="CAMPAIGN", help="A further campaign to score; repeatable.")
@click.option("--decide", is_flag=True, help="Store who passed, so that campaigns which require it let them in.")
@json_option
def qualify(slug: str, *, models: tuple[str, ...], decide: bool, as_json: bool, **asked: Any) -> None:
    """Score everybody who took the qualification SLUG, people and models, and say who passed.

    An imported campaign can be scored too: spanplat qualify TASK --reference KEY
    """
    given = {name: value for name, value in asked.items() if value is not None}
    with open_database() as database:
        with database.reading() as session:
            stated = definition_of(find_campaign(session, slug)).qualification_given
            # Options replace parts of the stated qualification. Without one, a reference is needed to score anything.
            chosen = None
            if given and (stated is not None or "reference" in given):
                chosen = QualificationGiven.model_validate((stated.model_dump() if stated else {}) | given)
            table = qualification_table(session, slug, chosen, models=models)
        changed = 0
        if decide:
            with database.transaction() as session:
                changed = record_decisions(session, table, datetime.now(UTC))
    rows = [
        {
            "annotator": candidate.pseudonym,
            "score": candidate.score,
            "passed": candidate.passed,
            "kind": candidate.kind,
            "attempts": candidate.attempts,
            "outputs": candidate.outputs,
        }
        for candidate in table.candidates
    ]
    passed, failed = len(table.passed), len(rows) - len(table.passed)
    exam = table.exam
    if as_json:
        document = {
            "threshold": exam.given.threshold,
            "top": exam.given.top,
            "metric": exam.scorer.name,
            "passed": passed,
            "failed": failed,
            "workers": rows,
        }
        print_json(document)
    else:
        if rows:
            print_table(tuple(rows[0]), [tuple(row.values()) for row in rows])
        bar = [f"above {exam.given.threshold}"] * (exam.given.threshold is not None)
        bar += [f"the best {exam.given.top}"] * (exam.given.top is not None)
        click.echo(f"{passed} of {len(rows)} passed ({exam.scorer.name}, {', '.join(bar)}).")
    if decide:
        note(f"{changed} decisions were stored or changed.")


@click.group()
def pool() -> None:
    """Show pools of people that campaigns may require, add people by their ids, and remove people."""


@pool.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the pools with the number of their members."""
    with open_database() as database, database.reading() as session:
        rows = list_pools(session)
    if as_json:
        print_json([{"pool": slug, "members": members} for slug, members in rows])
    elif rows:
        print_table(("pool", "members"), rows)
    else:
        note("There is no pool yet; a qualification that names one (qualification_given.pool) makes it.")


@pool.command("show")
@click.argument("slug")
@json_option
def show(slug: str, as_json: bool) -> None:
    """Show who is in a pool, by pseudonym."""
    with open_database() as database, database.reading() as session:
        members = list_members(session, slug)
    header = ("annotator", "source", "campaign", "score", "added_at", "expires_at")
    rows = [(m.pseudonym, m.source, m.campaign, m.score, m.added_at, m.expires_at) for m in members]
    if as_json:
        print_json([dict(zip(header, row, strict=True)) for row in rows])
    elif rows:
        print_table(header, rows)
    else:
        note(f"Nobody is in the pool {slug}.")


@pool.command("add")
@click.argument("slug")
@click.argument("ids", nargs=-1)
@click.option(
    "--from", "source", type=click.Choice(SOURCES), default=SOURCES[0], show_default=True, help="Platform of the ids."
)
@click.option("--file", type=click.File(encoding="utf-8"), help="A file with one id a line; - reads from the pipe.")
def add(slug: str, *, ids: tuple[str, ...], source: str, file: TextIO | None) -> None:
    """Add people to the pool SLUG by their IDS on the platform, also people who never took part."""
    try:
        wanted = [*ids, *(file.read().splitlines() if file is not None else ())]
    except UnicodeDecodeError as error:
        raise click.ClickException(
            f"the file of ids is not UTF-8 text (byte {error.start}); save it as UTF-8"
        ) from error
    with open_database() as database, database.transaction() as session:
        fresh = add_people(session, slug, source, wanted, datetime.now(UTC))
    click.echo(f"{fresh} people were added to {slug}.")


@pool.command("remove")
@click.argument("slug")
@click.argument("annotators", nargs=-1, required=True)
def remove(slug: str, annotators: tuple[str, ...]) -> None:
    """Remove people from a pool, by pseudonym."""
    with open_database() as database, database.transaction() as session:
        gone = remove_from_pool(session, slug, annotators)
    click.echo(f"{gone} of {len(annotators)} were in {slug} and are removed.")
