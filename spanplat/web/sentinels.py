"""Sentinel plots: how the measures behave on this very data when the hypothesis is made worse on purpose."""

from typing import Any

from flask import Blueprint, Response, render_template, request
from flask_babel import gettext as _

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.charts import lines
from spanplat.formats.tables import Table
from spanplat.services.sentinels import compute_sentinels
from spanplat.web.agreement import AgreementQuery
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import database

blueprint = Blueprint("sentinels", __name__, url_prefix="/admin/agreement/sentinels")


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the plots, computing them while the page waits or as a fragment for htmx."""
    query = AgreementQuery.from_request()
    if "HX-Request" not in request.headers and "wait" not in request.args:
        return render_template("agreement/sentinels.html", query=query, result=None)
    try:
        result = _computed(query)
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))
    template = "agreement/_sentinels.html" if "HX-Request" in request.headers else "agreement/sentinels.html"
    return render_template(template, query=query, result=result)


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return the points of a plot as a file."""
    result = _computed(AgreementQuery.from_request())
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
    points = _computed(AgreementQuery.from_request())[name]
    return chart_image(lines(points, x_title=titles[name], y_title="F1", series_title=_("measure")), name)


def _computed(query: AgreementQuery) -> dict[str, Any]:
    return compute_sentinels(database(), query.reference, query.hypothesis, query.options())
