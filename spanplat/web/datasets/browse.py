"""Pages for browsing outputs with their sources and the annotations of any campaigns."""

from collections.abc import Mapping
from typing import Any, Literal

from flask import Blueprint, Response, make_response, render_template, request, url_for
from sqlalchemy import select

from spanplat.metrics.disagreement import ClusterType
from spanplat.models import Category
from spanplat.services.agreement.disagreement_outputs import SpanCluster
from spanplat.services.agreement.sides import categories_of
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.services.campaigns.progress import coverage
from spanplat.services.datasets.browsing import (
    BrowseFilter,
    Layer,
    annotators_of,
    browse_output,
    describe_outputs,
    find_outputs,
)
from spanplat.services.datasets.search import SearchPlace
from spanplat.services.model_work.generations.reporting import provenance_of
from spanplat.web.address import PageQuery, page_of
from spanplat.web.marked_text import MarkedText, mark_text
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sources import chart_of, html_of, shown_as

blueprint = Blueprint("browse", __name__, url_prefix="/admin/browse")

OUTPUTS_PER_PAGE = 50
MOST_ANNOTATORS_OFFERED = 200


class BrowseQuery(PageQuery):
    """Query of the pages: the filter of outputs, and the layout of annotation layers."""

    campaign: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    category: str = ""
    annotator: str = ""
    check: Literal["", "passed", "failed"] = ""
    marked: Literal["", "all", "some", "none"] = ""
    q: str = ""
    place: SearchPlace = "text"
    layout: Literal["stacked", "beside"] = "stacked"

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the values that differ from the defaults after these changes, for a link, without the page number."""
        # A changed filter starts at its first page, unless the page itself is the change.
        changed = self.model_copy(update=changes)
        return changed.model_dump(exclude_defaults=True, exclude={"page"} - changes.keys())

    @property
    def filter(self) -> BrowseFilter:
        """Filter of outputs."""
        return BrowseFilter(
            campaigns=self.campaign,
            datasets=self.dataset,
            splits=self.split,
            systems=self.system,
            category=self.category,
            annotator=self.annotator,
            check=self.check,
            marked=self.marked,
            search=self.q.strip(),
            place=self.place,
        )


@blueprint.get("")
@policy("viewer")
def index() -> str:
    """List the outputs that match the filter."""
    query = BrowseQuery.from_request()
    session = reading()
    found = find_outputs(session, query.filter)
    shown = page_of(len(found), OUTPUTS_PER_PAGE)
    return render_template(
        "browse/index.html",
        query=query,
        rows=describe_outputs(session, query.filter, found[shown.first : shown.first + OUTPUTS_PER_PAGE]),
        found=len(found),
        shown=shown,
        **_offered(query),
    )


@blueprint.get("/<int:output_id>")
@policy("viewer")
def show(output_id: int) -> str:
    """Show one output with its layers."""
    query = BrowseQuery.from_request()
    output = browse_output(reading(), query.filter, output_id)
    campaigns = [find_campaign(reading(), slug) for slug in dict.fromkeys(layer.campaign for layer in output.layers)]
    categories = categories_of(reading(), campaigns)
    return render_template(
        "browse/output.html",
        query=query,
        output=output,
        source_html=html_of(shown_as(map(definition_of, campaigns)), output.source),
        provenance=provenance_of(reading(), output_id),
        total=output.total,
        marked=[_mark(output.text, layer, categories) for layer in output.layers],
        categories=categories,
        category_positions={key: position for position, key in enumerate(categories)},
        color_campaigns=[campaign.slug for campaign in campaigns],
        address=url_for(".show", output_id=output_id, _external=True, **query.arguments()),
        **_offered(query),
    )


@blueprint.get("/<int:output_id>/charts/<int:number>")
@policy("viewer")
def source_chart(output_id: int, number: int) -> Response:
    """Draw a chart of an output's source."""
    output = browse_output(reading(), BrowseQuery.from_request().filter, output_id)
    slugs = dict.fromkeys(layer.campaign for layer in output.layers)
    definitions = (definition_of(find_campaign(reading(), slug)) for slug in slugs)
    return chart_of(shown_as(definitions), output.source, number)


@blueprint.get("/colors.css")
@policy("viewer")
def colors() -> Response:
    """Return the colours of categories as a stylesheet, because the content security policy forbids inline styles."""
    session = reading()
    found: dict[str, str] = {}
    for slug in request.args.getlist("campaign"):
        campaign = find_campaign(session, slug)
        rows = select(Category.key, Category.color).where(Category.campaign_id == campaign.id)
        for key, color in session.execute(rows.order_by(Category.position)):
            found.setdefault(key, color)  # campaigns may share a key: the first one sets the colour
    response = make_response(
        "\n".join(f".category-{position} {{ --c: {color}; }}" for position, color in enumerate(found.values()))
    )
    response.mimetype = "text/css"
    response.add_etag()
    response.make_conditional(request)
    return response


def _offered(query: BrowseQuery) -> Mapping[str, Any]:
    """Return the choices of the filters."""
    session = reading()
    campaigns = list_campaigns(session)
    chosen = [campaign for campaign in campaigns if campaign.slug in query.campaign] or campaigns
    covered = coverage(session, chosen)
    return {
        "campaigns": campaigns,
        "offered": {"dataset": covered.datasets, "split": covered.splits, "system": covered.systems},
        "all_categories": categories_of(session, chosen),
        "annotators": annotators_of(session, query.campaign, MOST_ANNOTATORS_OFFERED),
    }


def _mark(text: str, layer: Layer, categories: Mapping[str, str]) -> MarkedText:
    """Draw a layer below the line, with the numbers of its spans in the list."""
    # A layer has no other side to compare with: all its spans are "extra" spans of the hypothesis, which is drawn below the line.
    clusters = [
        SpanCluster(
            number,
            ClusterType.EXTRA,
            {"reference": [], "hypothesis": [span]},
            is_wanted=True,
        )
        for number, span in enumerate(layer.spans, start=1)
    ]
    return mark_text(text, clusters, categories)
