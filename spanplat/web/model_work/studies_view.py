"""Tables of a prompt study, for its page and for download."""

from collections.abc import Callable, Mapping, Sequence

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Cell, Table
from spanplat.metrics import RANKING_MEASURES
from spanplat.services.agreement.leaderboard_report import Leaderboard, RankedFigure
from spanplat.services.model_work.studies.reporting import Variant, VariantRow, study_rows
from spanplat.web.agreement.measures import ranking_title
from spanplat.web.sorted_tables import Column, SortedTable, name_columns, number_column


def compared_table(measure: str, shown: Sequence[str]) -> SortedTable[VariantRow]:
    """Return the table of variants, ranked by a measure, with a column for each shown measure."""
    columns: list[Column[VariantRow]] = [
        number_column(_("Rank"), lambda row: row.entry.figures[measure].cluster if row.entry else None),
        Column(_("Variant"), lambda row: row.variant.name),
        *(number_column(ranking_title(name), _figure_of(name), css="wraps") for name in shown),
        number_column(_("p against the best"), lambda row: None if row.is_best else row.p_best, css="wraps"),
        number_column(_("Cost"), lambda row: row.variant.run.cost),
        number_column(_("For 1,000 outputs"), lambda row: row.variant.run.cost_per_1000, css="wraps"),
        number_column(_("Seconds per output"), lambda row: row.variant.run.seconds_per_output, css="wraps"),
    ]
    return SortedTable(name_columns(columns), lambda row: [row.variant.name])


def _figure_of(measure: str) -> Callable[[VariantRow], float | None]:
    return lambda row: row.entry.figures[measure].value if row.entry else None


def study_tables(slug: str, variants: Sequence[Variant], board: Leaderboard, measure: str) -> dict[str, Table]:
    """Return the table of the study, and the tests of all pairs of variants by all measures.

    Parameters
    ----------
    slug
        The study.
    variants
        Variants with the figures of their runs.
    board
        The leaderboard of the variants with answers.
    measure
        The measure that orders the variants and that ``p against the best`` tests.
    """
    caption = f"Study {slug}: agreement with {board.reference.campaign} on {board.shared} shared outputs; "
    caption += f"p of {measure} against the best variant, paired permutation test. {board.signature}"
    names = {variant.campaign.slug: variant.name for variant in variants}
    return {
        "study": Table(f"study-{slug}", _columns(measure), _rows(variants, board, measure), caption),
        "tests": Table(
            f"study-{slug}-tests",
            ["measure", "variant", "other", "difference", "p"],
            _tests(board, names),
            f"Study {slug}: paired permutation tests over outputs, not corrected for their number. {board.signature}",
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
    figures = [f"{name}{bound}" for name in RANKING_MEASURES for bound in ("", " low", " high")]
    return ["variant", "preset", "model", *costs, "outputs", "spans", *figures, f"p of {measure}", "rank"]


def _rows(variants: Sequence[Variant], board: Leaderboard, measure: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for row in study_rows(list(variants), board, measure):
        run, entry = row.variant.run, row.entry
        figures = entry.figures if entry else {}
        rows.append(
            [
                *(row.variant.name, row.variant.preset, row.variant.model),
                *(run.answered, run.failed, run.refusals, run.left, run.input_tokens, run.output_tokens),
                *(run.cost, run.cost_per_1000, run.seconds_per_output),
                *((entry.outputs, entry.spans) if entry else (None, None)),
                *(bound for name in RANKING_MEASURES for bound in _bounds(figures.get(name))),
                row.p_best,
                figures[measure].cluster if figures else None,
            ]
        )
    return rows


def _bounds(figure: RankedFigure | None) -> tuple[float | None, float | None, float | None]:
    return (figure.value, figure.low, figure.high) if figure else (None, None, None)


def _tests(board: Leaderboard, names: Mapping[str, str]) -> list[list[Cell]]:
    entries = board.entries
    rows: list[list[Cell]] = []
    for measure in RANKING_MEASURES:
        for one, first in enumerate(entries):
            for other, second in enumerate(entries[:one]):
                value, lower = (entry.figures[measure].value for entry in (second, first))
                difference = None if value is None or lower is None else value - lower
                pair = (names[second.campaign], names[first.campaign])
                rows.append([measure, *pair, difference, board.p_values[measure][one][other]])
    return rows
