"""Datasets: what there is, and looking into one."""

from flask import Blueprint, Response, current_app, render_template

from spanplat.services.datasets import (
    OutputFilter,
    count_outputs,
    dataset_summary,
    list_datasets,
    list_outputs,
    source_of_output,
)
from spanplat.services.search import SearchPlace
from spanplat.services.uploads import INCOMING, SUFFIXES, list_incoming, waiting_uploads
from spanplat.web.address import PageQuery, stretch_of
from spanplat.web.policy import may, policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading
from spanplat.web.sources import html_of
from spanplat.web.uploads import MOST_BYTES

blueprint = Blueprint("datasets", __name__, url_prefix="/admin/datasets")

OUTPUTS_PER_PAGE = 25


class DatasetQuery(PageQuery):
    """What the address says: which texts of the dataset."""

    split: str = ""
    system: str = ""
    key: str = ""
    search: str = ""
    place: SearchPlace = "text"

    @property
    def filter(self) -> OutputFilter:
        """Which texts are wanted."""
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
    """Show all datasets, and how to add one."""
    return render_template(
        "dataset/index.html",
        datasets=list_datasets(reading()),
        waiting=waiting_uploads(reading()) if may("researcher") else [],
        incoming=list_incoming(current_app.extensions["spanplat_settings"].home) if may("researcher") else [],
        incoming_folder=INCOMING,
        suffixes=SUFFIXES,
        most_megabytes=MOST_BYTES // 1024**2,
    )


@blueprint.get("/<slug>")
@policy("viewer")
def show(slug: str) -> Response:
    """Show what a dataset holds, and its texts, filtered."""
    session = reading()
    summary = dataset_summary(session, slug)
    query = DatasetQuery.from_request()
    wanted = query.filter
    found = count_outputs(session, slug, wanted)
    shown = stretch_of(found, OUTPUTS_PER_PAGE)
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
    """Show the source of a text; the page of the dataset asks for it when it is opened, for sources are long."""
    content = source_of_output(reading(), slug, output_id)
    template = "dataset/_source.html" if is_htmx() else "dataset/source.html"
    return unless_unchanged(render_template(template, slug=slug, source=html_of(None, content)))
