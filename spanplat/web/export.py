"""Downloading a campaign's annotations in the native format."""

from collections.abc import Callable, Iterable, Iterator

from flask import Blueprint, Response, render_template

from spanplat.errors import NotFound
from spanplat.formats.native import write_csv, write_jsonl
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.campaigns import find_campaign
from spanplat.services.exports import export_records
from spanplat.web.campaigns import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("export", __name__, url_prefix="/admin/campaigns/<slug>")

WRITERS: dict[str, tuple[Callable[[Iterable[AnnotationRecord]], Iterator[str]], str]] = {
    "jsonl": (write_jsonl, "application/x-ndjson"),
    "csv": (write_csv, "text/csv"),
}


@blueprint.get("/export")
@policy("viewer")
def show(slug: str) -> str:
    """Show the formats there are."""
    campaign = find_campaign(reading(), slug)
    return render_template("campaign/export.html", campaign=campaign, progress=progress_of(campaign))


@blueprint.get("/export.<extension>")
@policy("viewer")
def download(slug: str, extension: str) -> Response:
    """Stream the annotations as a file."""
    if extension not in WRITERS:
        raise NotFound(f"there is no export as {extension!r} here; choose one of {', '.join(WRITERS)}")
    find_campaign(reading(), slug)
    write, media_type = WRITERS[extension]
    store = database()  # the response is written after the request's own snapshot is closed

    def lines() -> Iterator[str]:
        with store.reading() as session:
            yield from write(export_records(session, slug))

    headers = {"Content-Disposition": f'attachment; filename="{slug}.{extension}"'}
    return Response(lines(), content_type=f"{media_type}; charset=utf-8", headers=headers)
