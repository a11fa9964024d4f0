"""The report on systems: who makes which errors, and whether people and models rank them alike."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, request
from flask_babel import gettext as _

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.charts import interval_bars
from spanplat.formats.tables import Table
from spanplat.services.campaigns import list_campaigns
from spanplat.services.progress import coverage
from spanplat.services.sides import Filters
from spanplat.services.systems import SystemsOptions, compute_systems, stored_systems
from spanplat.web.address import AddressQuery
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("systems", __name__, url_prefix="/admin/systems")


class SystemsQuery(AddressQuery):
    """What the address of the report says."""

    campaign: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    seed: int = 42

    @property
    def chosen(self) -> list[str]:
        """The campaigns, each once."""
        return list(dict.fromkeys(self.campaign))

    def options(self) -> SystemsOptions:
        """Return how to compute the report."""
        return SystemsOptions(seed=self.seed, filters=Filters(self.dataset, self.split, self.system))

    def of_campaign(self, slug: str) -> dict[str, Any]:
        """Return the arguments that put one campaign first: its chart is drawn."""
        others = tuple(other for other in self.chosen if other != slug)
        return self.model_copy(update={"campaign": (slug, *others)}).arguments()


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the report; what is not stored yet is fetched by the page, or computed at once when the address says ``wait``."""
    query = SystemsQuery.from_request()
    report = None
    if query.chosen:
        report = stored_systems(reading(), query.chosen, query.options())
        if report is None and "wait" in request.args:
            report = _report(query)
    return render_template("systems/show.html", query=query, report=report, **_choices(query))


@blueprint.get("/figures")
@policy("viewer")
def figures() -> str:
    """Return the report as a fragment, computing it unless it is stored."""
    query = SystemsQuery.from_request()
    try:
        return render_template("systems/_report.html", query=query, report=_report(query), by_errors=by_errors)
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the report as a file."""
    return table_file(_tables(_report(SystemsQuery.from_request())), name)


@blueprint.get("/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Draw the errors per output of the systems by the campaign named first."""
    if name != "errors":
        raise NotFound(f"there is no chart {name!r} here; choose errors")
    first = _report(SystemsQuery.from_request())["campaigns"][0]
    rows = [{"label": system["system"], **system["per_output"]} for system in by_errors(first)]
    return chart_image(interval_bars(rows, title=_("errors per output")), name)


def by_errors(campaign: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the systems of one campaign, the best derived score first."""
    return sorted(campaign["systems"], key=lambda system: -system["score"]["value"])


def _report(query: SystemsQuery) -> dict[str, Any]:
    return compute_systems(database(), query.chosen, query.options())


def _tables(report: Mapping[str, Any]) -> dict[str, Table]:
    categories = list(dict.fromkeys(name for one in report["campaigns"] for name in one["categories"]))
    severities = list(dict.fromkeys(name for one in report["campaigns"] for name in one["severities"]))
    head = ["campaign", "system", "rank", "outputs", "spans"]
    head += [
        f"{figure}{bound}" for figure in ("errors per output", "error-free", "score") for bound in ("", " low", " high")
    ]
    rows = [
        [
            one["campaign"],
            *(system[name] for name in ("system", "rank", "outputs", "spans")),
            *(
                system[figure][bound]
                for figure in ("per_output", "error_free", "score")
                for bound in ("value", "low", "high")
            ),
            *(system["by_category"].get(name) for name in categories),
            *(system["by_severity"].get(name) for name in severities),
        ]
        for one in report["campaigns"]
        for system in by_errors(one)
    ]
    names = ("pearson", "spearman", "kendall", "ties")
    agreement = [
        [one["campaign"], one["outputs"], one["systems"], *(one["figures"][name] for name in names)]
        for one in report["agreement"]
    ]
    return {
        "systems": Table("systems", [*head, *categories, *severities], rows, report["signature"]),
        "rankings": Table("rankings", ["campaign", "outputs", "systems", *names], agreement, report["signature"]),
    }


def _choices(query: SystemsQuery) -> dict[str, Any]:
    session = reading()
    campaigns = list_campaigns(session)
    chosen = [campaign for campaign in campaigns if campaign.slug in query.chosen]
    filters: list[tuple[str, str, list[str], tuple[str, ...]]] = []
    if chosen:
        covered = coverage(session, chosen)
        filters = [
            ("dataset", _("Dataset"), covered.datasets, query.dataset),
            ("split", _("Split"), covered.splits, query.split),
            ("system", _("System"), covered.systems, query.system),
        ]
    return {"campaigns": campaigns, "filters": filters, "by_errors": by_errors}
