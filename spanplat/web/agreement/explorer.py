"""Disagreement explorer: the outputs on which two campaigns differ most, with the spans of both sides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from pydantic import Field
from sqlalchemy import select
from werkzeug.wrappers import Response as AnyResponse

from spanplat.metrics.disagreement import ClusterType
from spanplat.models import Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.agreement.disagreement import (
    NO_PARTNER,
    DisagreementFilter,
    Disagreements,
    Selection,
    choose,
    find_disagreements,
)
from spanplat.services.agreement.disagreement_outputs import list_lines, show_output, source_of_output
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.campaigns.progress import coverage
from spanplat.services.model_work.generations.reporting import provenance_of
from spanplat.web.address import MOST_PAGES, page_of
from spanplat.web.agreement.comparison import AgreementQuery
from spanplat.web.marked_text import TYPE_MEANINGS, TYPE_NAMES, mark_text
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sources import chart_of, html_of, shown_as

blueprint = Blueprint("explorer", __name__, url_prefix="/admin/agreement/outputs")

OUTPUTS_PER_PAGE = 50


class ExplorerQuery(AgreementQuery):
    """Query of the explorer: the comparison and the filter."""

    type: ClusterType | None = None
    reference_category: str = ""
    hypothesis_category: str = ""
    q: str = ""
    page: int = Field(default=1, ge=1, le=MOST_PAGES)
    comparison: int = Field(default=1, ge=1, le=MOST_PAGES)

    @property
    def choice(self) -> DisagreementFilter:
        """Filter of clusters and outputs."""
        return DisagreementFilter(self.type, self.reference_category, self.hypothesis_category, self.q.strip())

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Return the values that differ from the defaults after these changes, for a link, without the page number."""
        return self.model_copy(update=changes).model_dump(
            exclude_defaults=True, exclude={"page", "comparison"} - changes.keys()
        )

    def agreement_arguments(self) -> dict[str, Any]:
        """Return the options of the comparison, for a link to its figures."""
        return self.model_dump(include=set(AgreementQuery.model_fields), exclude_defaults=True)


@dataclass(frozen=True)
class OutputPosition:
    """Position of an output among the filtered outputs."""

    number: int | None
    """Number from 1; None if the filter excludes the output."""
    total: int
    previous: str | None
    """Address of the previous output."""
    next: str | None


@blueprint.get("")
@policy("viewer")
def index() -> str | AnyResponse:
    """List the outputs, the greatest disagreement first. Without two campaigns, redirect to their choice."""
    query = ExplorerQuery.from_request()
    if not query.is_complete:
        return redirect(url_for("agreement.show", **query.agreement_arguments()), 303)
    found, selection = find_chosen(query)
    shown = page_of(len(selection.rows), OUTPUTS_PER_PAGE)
    rows = selection.rows[shown.first : shown.first + OUTPUTS_PER_PAGE].tolist()
    session = reading()
    campaigns = [find_campaign(session, slug) for slug in dict.fromkeys((query.reference, query.hypothesis))]
    covered = coverage(session, campaigns)
    return render_template(
        "explorer/outputs.html",
        query=query,
        found=found,
        selection=selection,
        lines=list_lines(session, found, rows),
        shown=shown,
        offered={"dataset": covered.datasets, "split": covered.splits, "system": covered.systems},
        **_words(found),
    )


@blueprint.get("/<int:output_id>")
@policy("viewer")
def show(output_id: int) -> str:
    """Show one output: its source, its text with both sides' spans, and the clusters."""
    query = ExplorerQuery.from_request()
    found, selection = find_chosen(query)
    output = show_output(reading(), found, selection, output_id, query.comparison)
    return render_template(
        "explorer/output.html",
        query=query,
        found=found,
        selection=selection,
        output=output,
        provenance=provenance_of(reading(), output_id),
        source_html=html_of(_shown_as(query), output.source),
        marked=mark_text(output.text, output.clusters, found.categories),
        place=_place(query, found, selection, output.line.row),
        address=url_for(".show", output_id=output_id, _external=True, **query.arguments(comparison=query.comparison)),
        **_words(found),
    )


@blueprint.get("/<int:output_id>/charts/<int:number>")
@policy("viewer")
def source_chart(output_id: int, number: int) -> Response:
    """Draw a chart of an output's source."""
    return chart_of(_shown_as(ExplorerQuery.from_request()), source_of_output(reading(), output_id), number)


@blueprint.get("/colors.css")
@policy("viewer")
def colors() -> Response:
    """Return the colours of categories as a stylesheet, because the content security policy forbids inline styles."""
    query = ExplorerQuery.from_request()
    session = reading()
    found: dict[str, str] = {}
    for slug in (query.reference, query.hypothesis):
        rows = select(Category.key, Category.color).where(Category.campaign_id == find_campaign(session, slug).id)
        for key, color in session.execute(rows.order_by(Category.position)):
            found.setdefault(key, color)  # both campaigns may have the key: the reference sets the colour
    rules = [f".category-{position} {{ --c: {color}; }}" for position, color in enumerate(found.values())]
    response = make_response("\n".join(rules))
    response.mimetype = "text/css"
    response.add_etag()
    response.make_conditional(request)
    return response


def find_chosen(query: ExplorerQuery) -> tuple[Disagreements, Selection]:
    """Return the comparison of a query, and its filtered outputs."""
    session = reading()
    found = find_disagreements(session, query.reference, query.hypothesis, query.options())
    return found, choose(session, found, query.choice)


def _shown_as(query: ExplorerQuery) -> CampaignDefinition | None:
    """Return the definition whose settings for sources apply."""
    return shown_as(definition_of(find_campaign(reading(), slug)) for slug in (query.reference, query.hypothesis))


def _words(found: Disagreements) -> Mapping[str, Any]:
    """Return the names of types and categories for both pages."""
    return {
        "type_names": {kind: str(name) for kind, name in TYPE_NAMES.items()},
        "type_meanings": {kind: str(meaning) for kind, meaning in TYPE_MEANINGS.items()},
        "category_positions": {key: position for position, key in enumerate(found.categories)},
        "no_partner": NO_PARTNER,
        "no_choice": DisagreementFilter(),
    }


def _place(query: ExplorerQuery, found: Disagreements, selection: Selection, row: int) -> OutputPosition:
    rows = selection.rows.tolist()
    if row not in rows:  # the filter excludes this output: the only way on is the first of the others
        return OutputPosition(None, len(rows), None, _address(query, found, rows[0]) if rows else None)
    at = rows.index(row)
    return OutputPosition(
        at + 1,
        len(rows),
        _address(query, found, rows[at - 1]) if at else None,
        _address(query, found, rows[at + 1]) if at + 1 < len(rows) else None,
    )


def _address(query: ExplorerQuery, found: Disagreements, row: int) -> str:
    output_id = found.reference[row].output_id
    comparison = found.rows_of_output[output_id].index(row) + 1
    return url_for(".show", output_id=output_id, **query.arguments(comparison=comparison))
