"""Pages of datasets: the list, and the texts of each."""

from flask import Blueprint, Response, current_app, render_template
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy

from spanplat.formats.table_formats import TABLE_FORMATS
from spanplat.services.datasets.listing import (
    DatasetSummary,
    OutputFilter,
    count_outputs,
    dataset_summary,
    list_datasets,
    list_outputs,
    source_of_output,
)
from spanplat.services.datasets.search import SearchPlace
from spanplat.services.datasets.uploads import INCOMING, SUFFIXES, list_incoming, waiting_uploads
from spanplat.web.address import PageQuery, page_of
from spanplat.web.datasets.uploads import MOST_BYTES
from spanplat.web.policy import may, policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, number_column
from spanplat.web.sources import html_of

blueprint = Blueprint("datasets", __name__, url_prefix="/admin/datasets")

OUTPUTS_PER_PAGE = 25
DATASETS: SortedTable[DatasetSummary] = SortedTable(
    {
        "dataset": Column(_lazy("Dataset"), lambda dataset: dataset.slug),
        "splits": Column(_lazy("Splits"), lambda dataset: ", ".join(dataset.splits)),
        "examples": number_column(_lazy("Examples"), lambda dataset: dataset.examples),
        "texts": number_column(_lazy("Texts"), lambda dataset: dataset.outputs),
        "systems": Column(_lazy("Systems"), lambda dataset: ", ".join(dataset.systems)),
    }
)


class DatasetQuery(PageQuery):
    """Query of the page: the filter of texts."""

    split: str = ""
    system: str = ""
    key: str = ""
    search: str = ""
    place: SearchPlace = "text"

    @property
    def filter(self) -> OutputFilter:
        """Filter of texts."""
        return OutputFilter(
            split=self.split.strip(),
            system=self.system.strip(),
            key=self.key.strip(),
            search=self.search.strip(),
            place=self.place,
        )


@blueprint.get("")
@policy("viewer")
def index() -> str:
    """Show all datasets and the form to add one."""
    return render_template(
        "dataset/index.html",
        datasets=DATASETS.view("datasets", TablePage("datasets.index"), list_datasets(reading())),
        waiting=waiting_uploads(reading()) if may("researcher") else [],
        incoming=list_incoming(current_app.extensions["spanplat_settings"].home) if may("researcher") else [],
        incoming_folder=INCOMING,
        suffixes=SUFFIXES,
        formats=_table_formats(),
        most_megabytes=MOST_BYTES // 1024**2,
    )


@blueprint.get("/<slug>")
@policy("viewer")
def show(slug: str) -> Response:
    """Show a summary of a dataset and its filtered texts."""
    session = reading()
    summary = dataset_summary(session, slug)
    query = DatasetQuery.from_request()
    wanted = query.filter
    found = count_outputs(session, slug, wanted)
    shown = page_of(found, OUTPUTS_PER_PAGE)
    return unless_unchanged(
        render_template(
            "dataset/show.html",
            dataset=summary,
            outputs=list_outputs(session, slug, wanted, offset=shown.first, limit=OUTPUTS_PER_PAGE),
            wanted=wanted,
            arguments=query.model_dump(exclude_defaults=True, exclude={"page"}),
            found=found,
            shown=shown,
        )
    )


@blueprint.get("/<slug>/sources/<int:output_id>")
@policy("viewer")
def source(slug: str, output_id: int) -> Response:
    """Return the source of a text. The page loads it when the reader opens it, because sources are long."""
    content = source_of_output(reading(), slug, output_id)
    template = "dataset/_source.html" if is_htmx() else "dataset/source.html"
    return unless_unchanged(render_template(template, slug=slug, source=html_of(None, content)))


def _table_formats() -> str:
    """Return the names of table formats as a phrase, such as "A, B or C"."""
    titles = [entry.title for entry in TABLE_FORMATS]
    return str(_("%(first)s or %(last)s", first=", ".join(titles[:-1]), last=titles[-1]))
