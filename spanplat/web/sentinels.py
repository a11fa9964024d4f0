"""Sentinel plots: how the measures behave on this very data when the hypothesis is made worse on purpose."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.errors import NotFound
from spanplat.formats.charts import lines
from spanplat.formats.tables import Table
from spanplat.services.sentinels import SENTINELS
from spanplat.web.agreement import AgreementQuery
from spanplat.web.computed import Part, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy

blueprint = Blueprint("sentinels", __name__, url_prefix="/admin/agreement/sentinels")

SERIES: Mapping[str, Any] = {
    "partial_credit, micro": _lazy("Matched spans by their overlap (MPP), pooled over texts"),
    "partial_credit, macro": _lazy("Matched spans by their overlap (MPP), mean over texts"),
    "partial, micro": _lazy("Matched spans (MP), pooled over texts"),
    "char, micro": _lazy("Characters, pooled over texts"),
}
"""Names of the measures that the plots draw."""

PART = Part(
    name="sentinels",
    title=_lazy("Making the hypothesis worse …"),
    query=AgreementQuery,
    template="agreement/_sentinels.html",
    question=lambda query: query.question(SENTINELS),
    context=lambda _query, result: {"result": result.value, "series_names": SERIES},
    address=lambda query: url_for("sentinels.show", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the plots as far as they are stored; the page asks for them otherwise."""
    return render_template("agreement/sentinels.html", **part_context(PART, AgreementQuery.from_request()))


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return the points of a plot as a file."""
    result = answer(PART)[1]
    tables = {
        plot: Table(
            plot, ["measure", title, "F1"], [[p["series"], p["x"], p["y"]] for p in result[plot]], result["signature"]
        )
        for plot, title in (("wider", "characters a side"), ("fewer", "probability"))
    }
    removed = [[row["series"], row["before"], row["after"]] for row in result["removed"]]
    tables["removed"] = Table("removed", ["measure", "before", "after"], removed, result["signature"])
    return table_file(tables, name)


@blueprint.get("/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Draw a plot."""
    titles = {
        "wider": _("characters added on either side of every span"),
        "fewer": _("probability that a span is left out"),
    }
    if name not in titles:
        raise NotFound(f"there is no chart {name!r} here; choose wider or fewer")
    points = [{**point, "series": str(SERIES[point["series"]])} for point in answer(PART)[1][name]]
    return chart_image(lines(points, x_title=titles[name], y_title="F1", series_title=_("measure")), name)
