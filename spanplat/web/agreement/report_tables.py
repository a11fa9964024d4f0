"""Columns of the tables in reports on agreement."""

from collections.abc import Callable, Sequence

from flask_babel import lazy_gettext as _

from spanplat.metrics.statistics import CategoryStatistics
from spanplat.services.agreement.distributions import CountPair
from spanplat.services.agreement.leaderboard_report import MeasuredFigure, RankedFigure
from spanplat.services.agreement.systems import RankingAgreement, SystemFigures, SystemsByCampaign
from spanplat.services.model_work.generations.reporting import SystemProvenance
from spanplat.web.agreement.agreement_view import FigureRow
from spanplat.web.agreement.leaderboard_view import LeaderboardRow, MeasureRow
from spanplat.web.sorted_tables import Column, SortedTable, name_columns, number_column


def _title_of(row: LeaderboardRow) -> str:
    return row.entry.title if row.entry else str(_("People among themselves"))


def _rank_of(figure: MeasuredFigure) -> int | None:
    return figure.cluster if isinstance(figure, RankedFigure) else None


def _parameters_of(one: SystemProvenance) -> str | None:
    # The seed has a column of its own.
    return " · ".join(f"{name} {value}" for name, value in one.parameters.items() if name != "seed") or None


STATISTICS: SortedTable[tuple[str, CategoryStatistics]] = SortedTable(
    {
        "category": Column(_("Category"), lambda row: row[0]),
        "spans": number_column(_("Spans"), lambda row: row[1].spans),
        "share-of-spans": number_column(_("Share of spans"), lambda row: row[1].share),
        "annotations-with-it": number_column(_("Annotations with it"), lambda row: row[1].prevalence),
        "characters-per-span": number_column(_("Characters per span"), lambda row: row[1].chars_per_span),
    }
)
COUNTS: SortedTable[CountPair] = SortedTable(
    {
        "reference-spans": number_column(_("Reference spans"), lambda pair: pair.reference),
        "hypothesis-spans": number_column(_("Hypothesis spans"), lambda pair: pair.hypothesis),
        "outputs": number_column(_("Outputs"), lambda pair: pair.outputs),
    }
)
STANDINGS: SortedTable[LeaderboardRow] = SortedTable(
    {
        "rank": number_column(_("Rank"), lambda row: _rank_of(row.figure)),
        "campaign": Column(_("Campaign"), _title_of),
        "figure": number_column(_("Figure"), lambda row: row.figure.value),
        "95-interval": number_column(_("95 %(percent)s interval", percent="%"), lambda row: row.figure.low),
        "outputs": number_column(_("Outputs"), lambda row: row.figure.outputs),
        "spans": number_column(_("Spans"), lambda row: row.entry.spans if row.entry else None),
        "p-against-the-next": number_column(_("p against the next"), lambda row: row.p_next),
    }
)
RANKINGS: SortedTable[RankingAgreement] = SortedTable(
    {
        "campaign": Column(_("Campaign"), lambda one: one.title),
        "kendall-τ-b": number_column(_("Kendall τ-b"), lambda one: one.figures["kendall"]),
        "spearman": number_column(_("Spearman"), lambda one: one.figures["spearman"]),
        "pearson": number_column(_("Pearson"), lambda one: one.figures["pearson"]),
        "tied-pairs": number_column(_("Tied pairs"), lambda one: one.figures["ties"]),
        "systems": number_column(_("Systems"), lambda one: one.systems),
        "outputs": number_column(_("Outputs"), lambda one: one.outputs),
    }
)
GENERATED: SortedTable[SystemProvenance] = SortedTable(
    {
        "system": Column(_("System"), lambda one: one.system),
        "dataset": Column(_("Dataset"), lambda one: one.dataset),
        "model": Column(_("Model"), lambda one: one.model),
        "seed": Column(_("Seed"), lambda one: one.seed, greatest_first=True),
        "parameters": Column(_("Parameters"), _parameters_of),
        "outputs": number_column(_("Outputs"), lambda one: one.figures.done),
        "cost": number_column(_("Cost"), lambda one: one.figures.cost),
        "sha-256-of-the-prompt": Column(_("SHA-256 of the prompt"), lambda one: one.prompt_sha256),
    }
)


def figure_table(heading: str, titles: Sequence[str]) -> SortedTable[FigureRow]:
    """Return a table with the names of rows in the column ``heading``, and a column for each figure."""
    figures = [number_column(title, _figure_at(place)) for place, title in enumerate(titles)]
    return SortedTable(
        name_columns([Column(heading, lambda row: row.title or row.name), *figures]),
        lambda row: [row.title, row.name],
    )


def measure_table(campaigns: Sequence[str], *, has_people: bool) -> SortedTable[MeasureRow]:
    """Return the table of all measures, with a column for each campaign and for people among themselves."""
    columns = [number_column(title, _campaign_at(place)) for place, title in enumerate(campaigns)]
    if has_people:
        columns.append(number_column(_("People"), lambda row: row.people.value if row.people else None))
    return SortedTable(name_columns([Column(_("Measure"), lambda row: row.title), *columns]), lambda row: [row.title])


def system_table(report: SystemsByCampaign) -> SortedTable[SystemFigures]:
    """Return the table of systems by one campaign, with a column for each category and severity."""
    columns: list[Column[SystemFigures]] = [
        number_column(_("Rank"), lambda system: system.rank),
        Column(_("System"), lambda system: system.system),
        number_column(_("Errors per output"), lambda system: system.per_output.value),
        number_column(_("Error-free"), lambda system: system.error_free.value),
    ]
    if report.weighted:
        columns.append(number_column(_("Score"), lambda system: system.score.value))
    columns += [number_column(name, _category_at(name)) for name in report.categories]
    columns += [number_column(name, _severity_at(name)) for name in report.severities]
    return SortedTable(name_columns(columns), lambda system: [system.system])


def _figure_at(place: int) -> Callable[[FigureRow], float | None]:
    return lambda row: row.figures[place].value


def _campaign_at(place: int) -> Callable[[MeasureRow], float | None]:
    return lambda row: row.figures[place].value


def _category_at(name: str) -> Callable[[SystemFigures], float | None]:
    return lambda system: system.by_category.get(name)


def _severity_at(name: str) -> Callable[[SystemFigures], float | None]:
    return lambda system: system.by_severity.get(name)
