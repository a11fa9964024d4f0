"""Views of a leaderboard and a matrix: ordered rows, a sentence on the first place, tables and the chart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask_babel import gettext as _

from spanplat.formats.charts import interval_bars
from spanplat.formats.tables import Table
from spanplat.metrics.measure import Explanation
from spanplat.services.agreement.leaderboard_report import (
    ContrastExample,
    Entry,
    Leaderboard,
    MeasuredFigure,
    RankedFigure,
)
from spanplat.services.agreement.matrix import Matrix, MatrixCell
from spanplat.web.agreement.explanations import EXPLANATIONS
from spanplat.web.agreement.measures import ranking_rows, ranking_title, ranking_titles
from spanplat.web.formatting import count, figure

# Shades in the style sheet: `.heat-1` to `.heat-9`.
HEAT_LEVELS = 9
SMALLEST_P = 0.001


@dataclass(frozen=True)
class ContrastView:
    """Greatest differences between the first two campaigns of a leaderboard."""

    names: tuple[str, str]
    slugs: tuple[str, str]
    categories: Sequence[tuple[str, float, float]]
    """Category with the character F1 of both, the greatest difference first."""
    better: tuple[int, int]
    """Number of outputs on which each is closer to the reference than the other."""
    examples: Sequence[Sequence[ContrastExample]]
    """For each of the two, outputs on which it is much closer."""


@dataclass(frozen=True)
class LeaderboardRow:
    """One row of the leaderboard. ``entry`` is None in the row of people among themselves."""

    entry: Entry | None
    figure: MeasuredFigure
    p_next: float | None
    """Of the test against the next campaign below; None in the last row."""


class MeasureRow(NamedTuple):
    """Row of one measure in the table of all measures."""

    measure: str
    title: str
    figures: Sequence[RankedFigure]
    """Figures of the campaigns, in the given order."""
    people: MeasuredFigure | None
    """Figure of the reference's annotators among themselves."""


class LeaderboardView:
    """One leaderboard by one of its measures.

    Parameters
    ----------
    result
        The result of `spanplat.services.agreement.leaderboard.compute_leaderboard`.
    measure
        The measure to order by.
    """

    def __init__(self, result: Leaderboard, measure: str) -> None:
        self.result = result
        self.measure = measure
        self.measure_title = ranking_title(measure)
        self._order = sorted(range(len(result.entries)), key=lambda place: -_or_least(self._figure(place).value))

    @property
    def human(self) -> MeasuredFigure | None:
        """The figure of the reference's annotators among themselves; None if it is undefined."""
        human = self.result.human
        own = human.figures[self.measure] if human else None
        return own if own and own.value is not None else None

    @property
    def standings(self) -> list[LeaderboardRow]:
        """The campaigns in the order of their figures, with the row of people among themselves at its place."""
        p_values = self.result.p_values[self.measure]
        rows = [
            LeaderboardRow(
                self.result.entries[place], self._figure(place), None if below is None else p_values[place][below]
            )
            for place, below in zip(self._order, [*self._order[1:], None], strict=True)
        ]
        # People among themselves have no rank: their row stands between the campaigns above and below their figure.
        if (human := self.human) is not None:
            above = sum(_or_least(row.figure.value) >= _or_least(human.value) for row in rows)
            rows.insert(above, LeaderboardRow(None, human, None))
        return rows

    @property
    def verdict(self) -> str:
        """A sentence on the campaign that is closest to the reference, and on its significance."""
        first = self.result.entries[self._order[0]]
        own = self._figure(self._order[0])
        if own.value is None:
            return str(_("This measure says nothing here: %(reason)s.", reason=own.reason))
        words = {"first": first.title, "reference": self.result.reference.title, "value": figure(own.value)}
        if len(self._order) == 1:
            sentence = _("%(first)s agrees with %(reference)s at %(value)s.", **words)
        else:
            below = self._order[1]
            words |= {"second": self.result.entries[below].title, "other": figure(self._figure(below).value)}
            p_value = self.result.p_values[self.measure][self._order[0]][below]
            words["p"] = p_of(p_value)
            # The first cluster holds the campaigns without a significant difference from the best.
            if self._figure(below).cluster != 1:
                sentence = _(
                    "%(first)s is closest to %(reference)s (%(value)s). %(second)s follows with %(other)s; "
                    "so large a difference is unlikely to be chance (%(p)s).",
                    **words,
                )
            else:
                sentence = _(
                    "%(first)s (%(value)s) and %(second)s (%(other)s) are closest to %(reference)s; "
                    "chance alone may explain the difference between them (%(p)s).",
                    **words,
                )
        return f"{sentence} {self._human_sentence()}".strip()

    @property
    def contrast(self) -> ContrastView | None:
        """The categories and texts on which the first two differ most; None if there are not two."""
        # The stored contrasts do not depend on the order of the two campaigns.
        chosen = self._order[:2]
        found = next((one for one in self.result.contrasts if sorted(one.entries) == sorted(chosen)), None)
        if found is None or self._figure(chosen[-1]).value is None:
            return None
        entries = [self.result.entries[place] for place in found.entries]
        first, second = (entry.by_category for entry in entries)
        categories = [(name, first.get(name, 0.0), second.get(name, 0.0)) for name in {**first, **second}]
        return ContrastView(
            names=(entries[0].title, entries[1].title),
            slugs=(entries[0].campaign, entries[1].campaign),
            categories=sorted(categories, key=lambda row: -abs(row[1] - row[2])),
            better=found.better,
            examples=[found.first, found.second],
        )

    @property
    def by_measure(self) -> list[MeasureRow]:
        """One row per measure."""
        human = self.result.human
        return [
            MeasureRow(
                measure,
                title,
                [entry.figures[measure] for entry in self.result.entries],
                human.figures[measure] if human else None,
            )
            for measure, title in ranking_titles().items()
        ]

    @property
    def about(self) -> list[tuple[str, Explanation]]:
        """Explanations of the measures and the other columns."""
        rows = [(_("p against the next"), EXPLANATIONS["p"]), (_("95 %% interval"), EXPLANATIONS["interval"])]
        return rows + ranking_rows()

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the page, for download."""
        return {"standings": self._standings_table(), "measures": self._measures_table()}

    @property
    def chart(self) -> dict[str, Any]:
        """The bars of the campaigns with their intervals, and the line of the people among themselves."""
        rows = [
            {"label": row.entry.title, "value": row.figure.value, "low": row.figure.low, "high": row.figure.high}
            for row in self.standings
            if row.entry is not None and row.figure.value is not None
        ]
        human = self.human
        line = None if human is None else human.value
        return interval_bars(rows, title=self.measure_title, line=line, line_label=_("people among themselves"))

    def _figure(self, place: int) -> RankedFigure:
        return self.result.entries[place].figures[self.measure]

    def _human_sentence(self) -> str:
        human = self.human
        if human is None or self.result.human is None:
            return ""
        words = {"value": figure(human.value), "number": count(self.result.human.outputs)}
        sentence = _("The reference’s people agree with each other at %(value)s, on %(number)s outputs.", **words)
        if self.result.chosen != "several":
            hint = _("Compare on the outputs with several people to see both on the same texts.")
            return f"{sentence} {hint}"
        return str(sentence)

    def _standings_table(self) -> Table:
        columns = ["rank", "campaign", self.measure, "low", "high", "outputs", "spans", "p against the next"]
        rows = [
            [
                row.figure.cluster if isinstance(row.figure, RankedFigure) else None,
                row.entry.campaign if row.entry else _("people among themselves"),
                *(row.figure.value, row.figure.low, row.figure.high, row.figure.outputs),
                row.entry.spans if row.entry else None,
                row.p_next,
            ]
            for row in self.standings
        ]
        return Table("leaderboard", columns, rows, self._caption())

    def _measures_table(self) -> Table:
        names = [entry.campaign for entry in self.result.entries]
        columns = ["measure", *(f"{name} {part}" for name in names for part in ("figure", "rank"))]
        people = self.result.human is not None
        rows = [
            [
                measure,
                *(part for own in figures for part in (own.value, own.cluster)),
                *([human.value if human else None] if people else []),
            ]
            for measure, _title, figures, human in self.by_measure
        ]
        return Table("measures", [*columns, *(["people"] if people else [])], rows, self._caption())

    def _caption(self) -> str:
        outputs, signature = self.result.outputs, self.result.signature
        reference = self.result.reference.campaign
        over = f"{outputs} shared outputs" if outputs is not None else "the outputs each shares with the reference"
        return f"Agreement with {reference} on {over}. {signature}"


@dataclass(frozen=True)
class MatrixRow:
    """Row of one campaign: figures with the shade of their cells."""

    title: str
    slug: str
    cells: Sequence[tuple[MatrixCell | None, int]]


class MatrixView:
    """One matrix.

    Parameters
    ----------
    result
        The result of `spanplat.services.agreement.matrix.compute_matrix`.
    """

    def __init__(self, result: Matrix) -> None:
        self.result = result
        self.measure_title = ranking_title(result.measure)

    @property
    def rows(self) -> list[MatrixRow]:
        """The rows, shaded between 0 and the highest figure."""
        highest = max((cell.value or 0 for row in self.result.cells for cell in row if cell), default=0)
        return [
            MatrixRow(campaign.title, campaign.campaign, [(cell, _shade(cell, highest)) for cell in cells])
            for campaign, cells in zip(self.result.campaigns, self.result.cells, strict=True)
        ]

    @property
    def tables(self) -> dict[str, Table]:
        """The matrix, and the same as a list of pairs with intervals."""
        names = [campaign.campaign for campaign in self.result.campaigns]
        square = [
            [name, *(cell.value if cell else None for cell in cells)]
            for name, cells in zip(names, self.result.cells, strict=True)
        ]
        pairs = [
            [names[row], names[column], cell.value, cell.low, cell.high, cell.outputs, cell.compared]
            for row, cells in enumerate(self.result.cells)
            for column, cell in enumerate(cells)
            # Measures are symmetric, so the other half repeats these pairs.
            if cell and column >= row
        ]
        columns = ["reference", "hypothesis", self.result.measure, "low", "high", "outputs", "compared"]
        caption = f"{self.result.measure} between campaigns. {self.result.signature}"
        return {
            "matrix": Table("matrix", ["campaign", *names], square, caption),
            "pairs": Table("pairs", columns, pairs, caption),
        }


def p_of(value: float | None) -> str:
    """Write a p-value as ``p = …``, or as ``p < …`` below the smallest value that is shown."""
    if value is None:
        return str(_("p unknown"))
    return f"p < {figure(SMALLEST_P)}" if value < SMALLEST_P else f"p = {figure(value)}"


def _shade(cell: MatrixCell | None, highest: float) -> int:
    if cell is None or cell.value is None or highest <= 0:
        return 0
    # Correlations and γ may be negative.
    return max(0, round(HEAT_LEVELS * cell.value / highest))


def _or_least(value: float | None) -> float:
    return float("-inf") if value is None else value
