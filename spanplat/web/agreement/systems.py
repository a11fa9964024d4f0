"""Report on systems: their errors, and whether people and models rank them alike."""

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.errors import NotFound
from spanplat.formats.charts import interval_bars
from spanplat.formats.tables import Table
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.systems import SYSTEMS, SystemFigures, SystemsByCampaign, SystemsOptions, SystemsReport
from spanplat.services.background.computations import ResultQuestion
from spanplat.services.background.results import StoredResult
from spanplat.services.campaigns.lifecycle import list_campaigns
from spanplat.services.model_work.generations.reporting import provenance_of_systems
from spanplat.web.address import AddressQuery
from spanplat.web.agreement.choices import filters_of
from spanplat.web.agreement.explanations import EXPLANATIONS
from spanplat.web.agreement.report_tables import GENERATED, RANKINGS, system_table
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sorted_tables import TablePage

blueprint = Blueprint("systems", __name__, url_prefix="/admin/systems")


class SystemsQuery(AddressQuery):
    """Query of the report."""

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
        """Return the options of the computation."""
        return SystemsOptions(seed=self.seed, filters=Filters(self.dataset, self.split, self.system))

    def of_campaign(self, slug: str) -> dict[str, Any]:
        """Return the arguments that put one campaign first, because the chart shows the first."""
        others = tuple(other for other in self.chosen if other != slug)
        return self.model_copy(update={"campaign": (slug, *others)}).arguments()


def _context(query: SystemsQuery, result: StoredResult[SystemsReport]) -> dict[str, Any]:
    names = {
        _("Errors per output"): "per_output",
        _("Error-free"): "error_free",
        _("Score"): "score",
        _("Order of the systems"): "rankings",
        _("Intervals"): "interval",
    }
    meanings = [(title, EXPLANATIONS[name]) for title, name in names.items()]
    systems = {system.system for one in result.report.campaigns for system in one.systems}
    place, report = TablePage("systems.show", query.arguments()), result.report
    generated = provenance_of_systems(reading(), systems)
    tables = ["rankings", "generated", *(f"by-{one.campaign}" for one in report.campaigns)]
    return {
        "report": report,
        "rankings": RANKINGS.view("rankings", place, report.agreement, beside=tables),
        "by_campaign": [
            (one, system_table(one).view(f"by-{one.campaign}", place, by_errors(one), beside=tables))
            for one in report.campaigns
        ],
        "meanings": meanings,
        "generated": GENERATED.view("generated", place, generated, beside=tables),
    }


PART = ComputedPart(
    name="systems",
    title=_lazy("Counting the errors of every system …"),
    query=SystemsQuery,
    template="systems/_report.html",
    question=lambda query: ResultQuestion(SYSTEMS, tuple(query.chosen), query.options()),
    context=_context,
    address=lambda query: url_for("systems.show", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the stored report; the page requests missing figures."""
    query = SystemsQuery.from_request()
    campaigns = list_campaigns(reading())
    chosen = [campaign for campaign in campaigns if campaign.slug in query.chosen]
    return render_template(
        "systems/show.html",
        campaigns=campaigns,
        filters=filters_of(chosen, query.dataset, query.split, query.system),
        **(part_context(PART, query) if query.chosen else {"query": query}),
    )


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the report as a file."""
    return table_file(_tables(answer(PART)[1]), name)


@blueprint.get("/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Draw the errors per output of the systems by the first campaign."""
    if name != "errors":
        raise NotFound(f"there is no chart {name!r} here; choose errors")
    first = answer(PART)[1].campaigns[0]
    rows = [{"label": system.system, **asdict(system.per_output)} for system in by_errors(first)]
    return chart_image(interval_bars(rows, title=_("errors per output")), name)


def by_errors(campaign: SystemsByCampaign) -> list[SystemFigures]:
    """Return the systems of one campaign, the best derived score first."""
    return sorted(campaign.systems, key=lambda system: -system.score.value)


def _tables(report: SystemsReport) -> dict[str, Table]:
    categories = list(dict.fromkeys(name for one in report.campaigns for name in one.categories))
    severities = list(dict.fromkeys(name for one in report.campaigns for name in one.severities))
    head = ["campaign", "system", "rank", "outputs", "spans"]
    head += [
        f"{figure}{bound}" for figure in ("errors per output", "error-free", "score") for bound in ("", " low", " high")
    ]
    rows = [
        [
            *(one.campaign, system.system, system.rank, system.outputs, system.spans),
            *(
                bound
                for figure in (system.per_output, system.error_free, system.score)
                for bound in (figure.value, figure.low, figure.high)
            ),
            *(system.by_category.get(name) for name in categories),
            *(system.by_severity.get(name) for name in severities),
        ]
        for one in report.campaigns
        for system in by_errors(one)
    ]
    names = ("pearson", "spearman", "kendall", "ties")
    agreement = [
        [one.campaign, one.outputs, one.systems, *(one.figures[name] for name in names)] for one in report.agreement
    ]
    return {
        "systems": Table("systems", [*head, *categories, *severities], rows, report.signature),
        "rankings": Table("rankings", ["campaign", "outputs", "systems", *names], agreement, report.signature),
    }
