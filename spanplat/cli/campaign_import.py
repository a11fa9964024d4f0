"""The command ``campaign import``: import campaigns with their annotations."""

from collections.abc import Sequence
from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.definition_file import read_source
from spanplat.cli.options import rename_option
from spanplat.cli.output import json_option, note, print_json, print_table, progress_bar
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import validate_definition
from spanplat.services.campaigns.import_formats import IMPORT_FORMATS
from spanplat.services.campaigns.import_records import ImportReport
from spanplat.services.campaigns.importing import import_campaign
from spanplat.text.counting import count_of

LISTED = 10


@click.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--slug", required=True, help="Name of the campaign here.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice([entry.name for entry in IMPORT_FORMATS]),
    required=True,
    help=" ".join(f"{entry.name}: {entry.help}." for entry in IMPORT_FORMATS),
)
@click.option(
    "--definition",
    "definition_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Definition that the annotators worked by (native format).",
)
@click.option("--outputs", type=click.Path(exists=True, path_type=Path), help="Folder of the annotated texts.")
@click.option("--inputs", type=click.Path(exists=True, path_type=Path), help="Folder of their sources.")
@rename_option
@click.option(
    "--missing-text",
    type=click.Choice(["keep", "fail"]),
    default="keep",
    show_default=True,
    help="Store annotations apart if their text is missing, or import nothing.",
)
@json_option
def import_(
    *,
    path: Path,
    slug: str,
    format_name: str,
    definition_file: Path | None,
    outputs: Path | None,
    inputs: Path | None,
    renames: Sequence[tuple[str, str]],
    missing_text: str,
    as_json: bool,
) -> None:
    """Import a campaign with its annotations from PATH.

    Nothing disappears: records without a place are stored with the reason and counted. Running the same import again adds nothing;
    an interrupted one can be repeated.
    """
    definition = _read_definition(definition_file, slug)
    with open_database() as database, progress_bar("Importing") as on_progress:
        report = import_campaign(
            database,
            path,
            slug=slug,
            format=format_name,
            definition=definition,
            outputs=outputs,
            inputs=inputs,
            renames=dict(renames),
            missing_text=missing_text,
            on_progress=on_progress,
        )
    if as_json:
        print_json(report.as_dict())
    else:
        _show(report)


def _read_definition(file: Path | None, slug: str) -> CampaignDefinition | None:
    if file is None:
        return None
    definition = validate_definition(read_source(file))
    # Nobody annotates an imported campaign here, whatever kind it had where it was made.
    return definition.model_copy(update={"slug": slug, "kind": "external"})


def _show(report: ImportReport) -> None:
    if report.already_imported:
        click.echo(f"{report.campaign} is imported already; nothing was added.")
        return
    click.echo(
        f"Imported {report.campaign}: {count_of(report.annotations, 'annotation')} with {count_of(report.spans, 'span')} "
        f"by {count_of(report.annotators, 'annotator')} on {count_of(report.outputs, 'output')}."
    )
    rows = [
        *((f"spans that differ from the text in {kind}", count) for kind, count in report.differences.items()),
        ("spans whose text is not in the output (offsets kept as received)", report.spans_not_in_text),
        *((f"spans kept apart: {reason}", count) for reason, count in report.unplaced_spans.items()),
        *((f"annotations kept apart: {reason}", count) for reason, count in report.unplaced_annotations.items()),
        ("records that could not be read", report.unreadable_records),
        ("repeated annotations by one annotator", report.repeats),
    ]
    counted = [row for row in rows if row[1]]
    if counted:
        print_table(("to know", "count"), counted)
    for problem in report.text_problems[:LISTED]:
        note(problem)
    if len(report.text_problems) > LISTED:
        note(f"… and {len(report.text_problems) - LISTED} more (all of them: --json)")
    for suggestion in report.suggestions:
        note(suggestion)
