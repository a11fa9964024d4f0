"""Downloads of the agreement page's tables and charts, and of a campaign's statistics."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, render_template, request, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.errors import NotFound
from spanplat.formats.charts import count_scatter, histogram
from spanplat.formats.tables import Table
from spanplat.services.agreement.distributions import DISTRIBUTION, Distribution
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.statistics import CampaignStatistics, campaign_statistics
from spanplat.services.background.results import StoredResult
from spanplat.web.agreement.agreement_view import AgreementView, Figure
from spanplat.web.agreement.comparison import PART as AGREEMENT_PART
from spanplat.web.agreement.comparison import AgreementQuery
from spanplat.web.agreement.report_tables import COUNTS
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sorted_tables import TablePage

blueprint = Blueprint("agreement_tables", __name__, url_prefix="/admin")


def _context(query: AgreementQuery, result: StoredResult[Distribution]) -> dict[str, Any]:
    sides = result.report.sides.values()
    has_costs = any(side.seconds.outputs or side.cost.total is not None for side in sides)
    place = TablePage("agreement_tables.distribution", query.arguments(), stands_elsewhere=True)
    counts = COUNTS.view("counts", place, result.report.pairs, beside=("measures",))
    return {"result": result.report, "has_costs": has_costs, "counts": counts}


PART = ComputedPart(
    name="distribution",
    title=_lazy("Counting how agreement is spread over the outputs …"),
    query=AgreementQuery,
    template="agreement/_distribution.html",
    question=lambda query: query.question(DISTRIBUTION),
    context=_context,
    address=lambda query: url_for("agreement_tables.distribution", **query.arguments()),
    is_aside=True,
)


@blueprint.get("/agreement/distribution")
@policy("viewer")
def distribution() -> str:
    """Show the distribution of agreement over the outputs, and the time and cost of both sides."""
    return render_template("agreement/distribution.html", **part_context(PART, AgreementQuery.from_request()))


@blueprint.get("/agreement/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the agreement page as a file."""
    if name in ("counts", "distribution"):
        return table_file(_distribution_tables(answer(PART)[1]), name)
    if name == "statistics":
        return table_file({name: _statistics_table(answer(PART)[1].sides)}, name)
    return table_file(agreement_tables(AgreementView(answer(AGREEMENT_PART)[1])), name)


@blueprint.get("/agreement/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Return a chart of the agreement page as an image."""
    query, result = answer(PART)
    if name == "counts":
        titles = [_("spans of %(campaign)s", campaign=slug) for slug in (query.reference, query.hypothesis)]
        spec = count_scatter(
            [asdict(pair) for pair in result.pairs], x_title=titles[0], y_title=titles[1], size_title=_("outputs")
        )
        return chart_image(spec, name)
    if name == "distribution":
        return chart_image(_distribution_chart(result), name)
    raise NotFound(f"there is no chart {name!r} here; choose counts or distribution")


@blueprint.get("/campaigns/<slug>/table/<name>")
@policy("viewer")
def statistics(slug: str, name: str) -> Response:
    """Return a campaign's statistics by category as a file."""
    filters = Filters(splits=tuple(request.args.getlist("split")))
    return table_file(
        {"statistics": _statistics_table({slug: campaign_statistics(reading(), slug, filters=filters)})}, name
    )


def agreement_tables(view: AgreementView) -> dict[str, Table]:
    """Return the tables that the agreement page shows."""
    result = view.result
    # With the signature in its caption, a downloaded table can be computed again.
    caption = f"{result.hypothesis.campaign} against {result.reference.campaign}. {result.signature}"
    by_category, labels = view.by_category, result.confusion.labels if result.confusion else []
    headline = [
        [card.title, name, figure.value, figure.reason or None]
        for card in view.cards
        for name, figure in [("", card.figure), *card.parts]
    ]
    parts = [f"{side} {part}" for side in ("hard", "soft") for part in ("P", "R", "F1")]
    return {
        "headline": Table("headline", ["measure", "part", "figure", "undefined because"], headline, caption),
        "categories": Table(
            "categories",
            ["category", *by_category.columns],
            [[row.name, *_values(row.figures)] for row in by_category.rows],
            caption,
        ),
        "confusion": Table(
            "confusion",
            ["reference \\ hypothesis", *labels, "total"],
            [[row.label, *(cell.count for cell in row.cells), row.total] for row in view.confusion],
            caption,
        ),
        "measures": Table(
            "measures", ["measure", *parts], [[row.name, *_values(row.figures)] for row in view.families], caption
        ),
    }


def _values(figures: Any) -> list[float | None]:
    return [figure.value for figure in figures if isinstance(figure, Figure)]


def _distribution_chart(result: Distribution) -> dict[str, Any]:
    series = {
        "both": _("both sides marked something"),
        "one": _("one side marked nothing"),
        "neither": _("neither did"),
    }
    rows = [
        {"low": one.low, "high": one.high, "series": title, "outputs": getattr(one, name)}
        for name, title in series.items()
        for one in result.bins
    ]
    return histogram(rows, x_title=_("character F1 of an output"), y_title=_("outputs"), series_title="")


def _distribution_tables(result: Distribution) -> Mapping[str, Table]:
    pairs = [[pair.reference, pair.hypothesis, pair.outputs] for pair in result.pairs]
    bins = [[one.low, one.high, one.both, one.one, one.neither] for one in result.bins]
    columns = ["from", "to", "both marked", "one marked nothing", "neither marked"]
    return {
        "counts": Table("counts", ["reference spans", "hypothesis spans", "outputs"], pairs, result.signature),
        "distribution": Table("distribution", columns, bins, result.signature),
    }


def _statistics_table(sides: Mapping[str, CampaignStatistics]) -> Table:
    """Return one table of all campaigns: a row for the whole campaign, then a row for each category."""
    columns = [
        "campaign",
        "category",
        "annotations",
        "spans",
        "spans per annotation",
        "without a span %",
        "share of spans",
    ]
    columns += ["annotations with it", "characters per span", "seconds per output", "cost per 1000 outputs", "currency"]
    rows: list[list[Any]] = []
    for slug, entry in sides.items():
        mean = entry.seconds.mean_per_output
        whole = [entry.annotations, entry.spans, entry.spans_per_annotation, entry.empty_percent]
        paid = (entry.cost.per_1000_outputs, entry.cost.currency)
        rows.append([slug, "all", *whole, None, None, entry.chars_per_span, mean, *paid])
        for name, own in entry.categories.items():
            shares = [own.share, own.prevalence, own.chars_per_span]
            rows.append([slug, name, entry.annotations, own.spans, None, None, *shares, None, None, None])
    return Table("statistics", columns, rows)
