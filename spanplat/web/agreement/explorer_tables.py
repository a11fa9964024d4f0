"""Downloads of the disagreement explorer: filtered outputs, counts by type, and the spans of one output."""

from collections.abc import Mapping

from flask import Blueprint, Response

from spanplat.formats.tables import Cell, Table
from spanplat.metrics.disagreement import TYPES
from spanplat.services.agreement.disagreement import Disagreements, Selection
from spanplat.services.agreement.disagreement_outputs import ComparedOutput, OutputLine, Who, list_lines, show_output
from spanplat.web.agreement.explorer import ExplorerQuery, find_chosen
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("explorer_tables", __name__, url_prefix="/admin/agreement/outputs")


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a file with the filtered outputs of all pages, or with the counts of their types of disagreement."""
    query = ExplorerQuery.from_request()
    found, selection = find_chosen(query)
    lines = list_lines(reading(), found, selection.rows.tolist()) if name == "outputs" else []
    return table_file(outputs_tables(found, selection, lines, query), name)


@blueprint.get("/<int:output_id>/table/<name>")
@policy("viewer")
def output_table(output_id: int, name: str) -> Response:
    """Return a file with the filtered spans of both sides on one output."""
    query = ExplorerQuery.from_request()
    found, selection = find_chosen(query)
    output = show_output(reading(), found, selection, output_id, query.comparison)
    return table_file({"spans": spans_table(found, output, query)}, name)


def outputs_tables(
    found: Disagreements, selection: Selection, lines: list[OutputLine], query: ExplorerQuery
) -> Mapping[str, Table]:
    """Return the tables of the list: ``outputs`` has a row for each output, ``types`` a row for each type."""
    columns = ["dataset", "split", "example", "system", "comparison", "F1", *TYPES, "text begins"]
    rows: list[list[Cell]] = [
        [
            *(line.dataset, line.split, line.example, line.system, line.comparison, line.f1),
            *(line.counts[kind] for kind in TYPES),
            line.excerpt,
        ]
        for line in lines
    ]
    caption = _caption(found, query)
    types: list[list[Cell]] = [[kind, number] for kind, number in selection.by_type.items()]
    return {
        "outputs": Table("outputs", columns, rows, caption),
        "types": Table("types", ["kind", "clusters"], types, caption),
    }


def spans_table(found: Disagreements, output: ComparedOutput, query: ExplorerQuery) -> Table:
    """Return a row for each span of the wanted clusters."""
    columns = [
        "cluster",
        "kind",
        "campaign",
        "annotator",
        "category",
        "severity",
        "side",
        "start",
        "end",
        "text",
        "reason",
    ]
    campaigns: dict[Who, str] = {"reference": query.reference, "hypothesis": query.hypothesis}
    rows: list[list[Cell]] = [
        [
            *(cluster.number, cluster.kind, campaigns[who], output.annotators[who]),
            *(found.categories[span.category], span.severity, span.side, span.start, span.end, span.text, span.reason),
        ]
        for cluster in output.clusters
        if cluster.is_wanted
        for who, spans in cluster.spans.items()
        for span in spans
    ]
    line = output.line
    place = f"{line.dataset} {line.split} {line.example} {line.system}. "
    return Table("spans", columns, rows, place + _caption(found, query))


def _caption(found: Disagreements, query: ExplorerQuery) -> str:
    return f"{query.hypothesis} against {query.reference}. {found.signature}"
