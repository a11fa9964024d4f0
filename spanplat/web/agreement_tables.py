"""The tables of the agreement page and of a campaign's statistics as files, and the page's charts."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, request
from flask_babel import gettext as _

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.charts import count_scatter, histogram
from spanplat.formats.tables import Table
from spanplat.services.agreement import compute_agreement
from spanplat.services.disagreement import Disagreements, find_disagreements
from spanplat.services.distributions import count_pairs, f1_bins
from spanplat.services.sides import Filters
from spanplat.services.stats import campaign_statistics
from spanplat.web.agreement import AgreementQuery
from spanplat.web.agreement_view import AgreementView, Figure
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("agreement_tables", __name__, url_prefix="/admin")


@blueprint.get("/agreement/distribution")
@policy("viewer")
def distribution() -> str:
    """Show how agreement is spread over the outputs, and what either side took in time and money; a fragment where htmx asks."""
    query = AgreementQuery.from_request()
    try:
        found = _found(query)
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))
    sides = _statistics(query)
    template = "agreement/_distribution.html" if "HX-Request" in request.headers else "agreement/distribution.html"
    return render_template(
        template,
        query=query,
        rows=len(found.f1),
        pairs=count_pairs(found),
        bins=f1_bins(found),
        sides=sides,
        has_costs=any(side["seconds"]["outputs"] or side["cost"]["total"] is not None for side in sides.values()),
    )


@blueprint.get("/agreement/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the agreement page as a file."""
    query = AgreementQuery.from_request()
    if name in ("counts", "distribution"):
        return table_file(_distribution_tables(_found(query)), name)
    if name == "statistics":
        return table_file({name: _statistics_table(_statistics(query))}, name)
    result = compute_agreement(database(), query.reference, query.hypothesis, query.options())
    return table_file(agreement_tables(AgreementView(result)), name)


@blueprint.get("/agreement/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Return a chart of the agreement page as an image."""
    query = AgreementQuery.from_request()
    found = _found(query)
    if name == "counts":
        rows = [
            {"reference": p.reference, "hypothesis": p.hypothesis, "outputs": p.outputs} for p in count_pairs(found)
        ]
        titles = [_("spans of %(campaign)s", campaign=slug) for slug in (query.reference, query.hypothesis)]
        return chart_image(count_scatter(rows, x_title=titles[0], y_title=titles[1], size_title=_("outputs")), name)
    if name == "distribution":
        return chart_image(_distribution_chart(found), name)
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
    caption = f"{result['hypothesis']['campaign']} against {result['reference']['campaign']}. {result['signature']}"
    by_category, labels = view.by_category, list((result.get("confusion") or {"labels": []})["labels"])
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


def _found(query: AgreementQuery) -> Disagreements:
    return find_disagreements(reading(), query.reference, query.hypothesis, query.options())


def _statistics(query: AgreementQuery) -> dict[str, dict[str, Any]]:
    """Return the statistics of either side under its rule; a rule that compares annotators counts each."""
    filters, session = query.options().filters, reading()
    rules = {query.reference: query.rule, query.hypothesis: query.hypothesis_rule}
    return {
        slug: campaign_statistics(session, slug, rule="each" if rule in ("pairs", "all") else rule, filters=filters)
        for slug, rule in rules.items()
    }


def _distribution_chart(found: Disagreements) -> dict[str, Any]:
    series = {
        "both": _("both sides marked something"),
        "one": _("one side marked nothing"),
        "neither": _("neither did"),
    }
    rows = [
        {"low": one.low, "high": one.high, "series": title, "outputs": getattr(one, name)}
        for name, title in series.items()
        for one in f1_bins(found)
    ]
    return histogram(rows, x_title=_("character F1 of an output"), y_title=_("outputs"), series_title="")


def _distribution_tables(found: Disagreements) -> Mapping[str, Table]:
    pairs = [[pair.reference, pair.hypothesis, pair.outputs] for pair in count_pairs(found)]
    bins = [[one.low, one.high, one.both, one.one, one.neither] for one in f1_bins(found)]
    columns = ["from", "to", "both marked", "one marked nothing", "neither marked"]
    return {
        "counts": Table("counts", ["reference spans", "hypothesis spans", "outputs"], pairs, found.signature),
        "distribution": Table("distribution", columns, bins, found.signature),
    }


def _statistics_table(sides: Mapping[str, Mapping[str, Any]]) -> Table:
    """Put campaigns and their categories below each other: first the whole campaign, then each category."""
    columns = [
        "campaign",
        "category",
        "annotations",
        "spans",
        "spans per annotation",
        "without a span %",
        "share of spans",
    ]
    columns += ["annotations with it", "characters per span", "hours per 1000 outputs", "USD per 1000 outputs"]
    rows: list[list[Any]] = []
    for slug, entry in sides.items():
        mean = entry["seconds"]["mean_per_output"]
        whole = [entry[name] for name in ("annotations", "spans", "spans_per_annotation", "empty_percent")]
        hours = None if mean is None else mean / 3.6
        rows.append(
            [slug, "all", *whole, None, None, entry["chars_per_span"], hours, entry["cost"]["per_1000_outputs"]]
        )
        for name, own in entry["categories"].items():
            shares = [own[part] for part in ("share", "prevalence", "chars_per_span")]
            rows.append([slug, name, entry["annotations"], own["spans"], None, None, *shares, None, None])
    return Table("statistics", columns, rows)
