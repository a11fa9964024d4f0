"""The report on systems: who makes which errors, and whether people and models rank them alike."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.errors import NotFound
from spanplat.formats.charts import interval_bars
from spanplat.formats.tables import Table
from spanplat.services.campaigns import list_campaigns
from spanplat.services.computations import Question
from spanplat.services.generations.provenance import provenance_of_systems
from spanplat.services.results import Result
from spanplat.services.sides import Filters
from spanplat.services.systems import SYSTEMS, SystemsOptions
from spanplat.web.address import AddressQuery
from spanplat.web.choices import filters_of
from spanplat.web.computed import Part, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.explanations import EXPLANATIONS
from spanplat.web.policy import policy
from spanplat.web.session import reading

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


def _context(_query: SystemsQuery, result: Result) -> dict[str, Any]:
    names = {
        _("Errors per output"): "per_output",
        _("Error-free"): "error_free",
        _("Score"): "score",
        _("Order of the systems"): "rankings",
        _("Intervals"): "interval",
    }
    meanings = [(title, EXPLANATIONS[name]) for title, name in names.items()]
    systems = {system["system"] for one in result.value["campaigns"] for system in one["systems"]}
    return {
        "report": result.value,
        "by_errors": by_errors,
        "meanings": meanings,
        "generated": provenance_of_systems(reading(), systems),
    }


PART = Part(
    name="systems",
    title=_lazy("Counting the errors of every system …"),
    query=SystemsQuery,
    template="systems/_report.html",
    question=lambda query: Question(SYSTEMS, tuple(query.chosen), query.options()),
    context=_context,
    address=lambda query: url_for("systems.show", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the report as far as it is stored; the page asks for it otherwise."""
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
    """Draw the errors per output of the systems by the campaign named first."""
    if name != "errors":
        raise NotFound(f"there is no chart {name!r} here; choose errors")
    first = answer(PART)[1]["campaigns"][0]
    rows = [{"label": system["system"], **system["per_output"]} for system in by_errors(first)]
    return chart_image(interval_bars(rows, title=_("errors per output")), name)


def by_errors(campaign: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the systems of one campaign, the best derived score first."""
    return sorted(campaign["systems"], key=lambda system: -system["score"]["value"])


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
