"""The tables of a prompt study, for download."""

from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.formats.tables import Cell, Table
from spanplat.services.scoresheets import STATISTICS
from spanplat.services.studies.reporting import Variant, study_rows


def study_tables(slug: str, variants: Sequence[Variant], board: Mapping[str, Any], measure: str) -> dict[str, Table]:
    """Return the table of the study, and the tests of every two variants by every measure.

    Parameters
    ----------
    slug
        The study.
    variants
        With what their runs did.
    board
        The leaderboard of those with answers.
    measure
        Orders the variants, and is what ``p against the best`` is about.
    """
    caption = f"Study {slug}: agreement with {board['reference']['campaign']} on {board['shared']} shared outputs; "
    caption += f"p of {measure} against the best variant, paired permutation test. {board['signature']}"
    names = {variant.campaign.slug: variant.name for variant in variants}
    return {
        "study": Table(f"study-{slug}", _columns(measure), _rows(variants, board, measure), caption),
        "tests": Table(
            f"study-{slug}-tests",
            ["measure", "variant", "other", "difference", "p"],
            _tests(board, names),
            f"Study {slug}: paired permutation tests over outputs, not corrected for their number. {board['signature']}",
        ),
    }


def _columns(measure: str) -> list[str]:
    costs = [
        "answered",
        "failed",
        "refusals",
        "left",
        "tokens in",
        "tokens out",
        "cost",
        "cost per 1000",
        "seconds per output",
    ]
    figures = [f"{name}{bound}" for name in STATISTICS for bound in ("", " low", " high")]
    return ["variant", "preset", "model", *costs, "outputs", "spans", *figures, f"p of {measure}", "rank"]


def _rows(variants: Sequence[Variant], board: Mapping[str, Any], measure: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for row in study_rows(list(variants), dict(board), measure):
        run, entry = row.variant.run, row.entry
        figures = entry["figures"] if entry else {}
        rows.append(
            [
                *(row.variant.name, row.variant.preset, row.variant.model),
                *(run.answered, run.failed, run.refusals, run.left, run.input_tokens, run.output_tokens),
                *(run.cost, run.cost_per_1000, run.seconds_per_output),
                *((entry["outputs"], entry["spans"]) if entry else (None, None)),
                *(figures.get(name, {}).get(bound) for name in STATISTICS for bound in ("value", "low", "high")),
                row.p_best,
                figures.get(measure, {}).get("cluster"),
            ]
        )
    return rows


def _tests(board: Mapping[str, Any], names: Mapping[str, str]) -> list[list[Cell]]:
    entries = board["entries"]
    rows: list[list[Cell]] = []
    for measure in STATISTICS:
        for one, first in enumerate(entries):
            for other, second in enumerate(entries[:one]):
                values = [entry["figures"][measure]["value"] for entry in (second, first)]
                difference = None if None in values else values[0] - values[1]
                pair = (names[second["campaign"]], names[first["campaign"]])
                rows.append([measure, *pair, difference, board["p_values"][measure][one][other]])
    return rows
