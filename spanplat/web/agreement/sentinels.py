"""Page of sentinel plots: the values of measures when the hypothesis is made worse step by step."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.errors import NotFound
from spanplat.formats.charts import lines
from spanplat.formats.tables import Table
from spanplat.services.agreement.sentinels import SENTINELS
from spanplat.web.agreement.comparison import AgreementQuery
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy

blueprint = Blueprint("sentinels", __name__, url_prefix="/admin/agreement/sentinels")

SERIES: Mapping[str, Any] = {
    "partial_credit, micro": _lazy("Matched spans by their overlap (MPP), pooled over texts"),
    "partial_credit, macro": _lazy("Matched spans by their overlap (MPP), mean over texts"),
    "partial, micro": _lazy("Matched spans (MP), pooled over texts"),
    "char, micro": _lazy("Characters, pooled over texts"),
}
"""Names of the measures in the plots."""

PART = ComputedPart(
    name="sentinels",
    title=_lazy("Making the hypothesis worse …"),
    query=AgreementQuery,
    template="agreement/_sentinels.html",
    question=lambda query: query.question(SENTINELS),
    context=lambda _query, result: {"result": result.report, "series_names": SERIES},
    address=lambda query: url_for("sentinels.show", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the stored plots; the page requests missing figures."""
    return render_template("agreement/sentinels.html", **part_context(PART, AgreementQuery.from_request()))


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return the points of a plot as a file."""
    result = answer(PART)[1]
    plots = (("wider", "characters a side", result.wider), ("fewer", "probability", result.fewer))
    tables = {
        plot: Table(plot, ["measure", title, "F1"], [[one.series, one.x, one.y] for one in points], result.signature)
        for plot, title, points in plots
    }
    removed = [[row.series, row.before, row.after] for row in result.removed]
    tables["removed"] = Table("removed", ["measure", "before", "after"], removed, result.signature)
    return table_file(tables, name)


@blueprint.get("/chart/<name>")
@policy("viewer")
def chart(name: str) -> Response:
    """Draw a plot."""
    result = answer(PART)[1]
    plots = {
        "wider": (_("characters added on either side of every span"), result.wider),
        "fewer": (_("probability that a span is left out"), result.fewer),
    }
    if name not in plots:
        raise NotFound(f"there is no chart {name!r} here; choose wider or fewer")
    title, points = plots[name]
    drawn = [{"x": one.x, "y": one.y, "series": str(SERIES[one.series])} for one in points]
    return chart_image(lines(drawn, x_title=title, y_title="F1", series_title=_("measure")), name)
