"""The command ``campaign training``: write training data from a campaign."""

from pathlib import Path

import click

from spanplat.cli.database import open_database
from spanplat.cli.output import json_option, print_json
from spanplat.services.model_work.training import (
    PARTS,
    SHARES,
    count_parts,
    training_examples,
    training_files,
)


@click.command("training")
@click.argument("slug")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for the files of the parts.",
)
@click.option(
    "--share",
    "shares",
    type=click.FloatRange(0),
    nargs=len(PARTS),
    default=SHARES,
    show_default=True,
    help=f"Sizes of the parts: {', '.join(PARTS)}.",
)
@click.option("--seed", type=int, default=42, show_default=True, help="Seed of the split.")
@json_option
def training(*, slug: str, output: Path, shares: tuple[float, ...], seed: int, as_json: bool) -> None:
    """Write a campaign's annotations as examples for supervised fine-tuning, in chat format.

    Each example is a short prompt and the reply to learn: errors, and scores from 0 to 100 in steps of 5. Examples with the same
    source or the same text are in the same part.
    """
    with open_database() as database, database.reading() as session:
        examples = training_examples(session, slug, shares=shares, seed=seed)
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, lines in training_files(examples).items():
            (output / name).write_text(lines, encoding="utf-8", newline="")
    except OSError as error:
        raise click.ClickException(f"cannot write in {output} ({error.strerror})") from error
    counts = count_parts(examples)
    if as_json:
        print_json({"campaign": slug, "output": str(output), "seed": seed, **counts})
    else:
        click.echo(f"Wrote {', '.join(f'{number} {part}' for part, number in counts.items())} to {output}.")
