"""Downloading a campaign's annotations: in the native format, and as training data."""

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator

from flask import Blueprint, Response, render_template
from pydantic import Field

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.native import write_csv, write_jsonl
from spanplat.schemas.record import AnnotationRecord
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.exports import export_records
from spanplat.services.training.exporting import SHARES, check_learnable, training_examples, training_files
from spanplat.web.address import AddressQuery
from spanplat.web.campaigns import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("export", __name__, url_prefix="/admin/campaigns/<slug>")

WRITERS: dict[str, tuple[Callable[[Iterable[AnnotationRecord]], Iterator[str]], str]] = {
    "jsonl": (write_jsonl, "application/x-ndjson"),
    "csv": (write_csv, "text/csv"),
}


class TrainingQuery(AddressQuery):
    """What the form about training data says."""

    train: float = Field(default=SHARES[0], ge=0, allow_inf_nan=False)
    validation: float = Field(default=SHARES[1], ge=0, allow_inf_nan=False)
    test: float = Field(default=SHARES[2], ge=0, allow_inf_nan=False)
    seed: int = 42


@blueprint.get("/export")
@policy("viewer")
def show(slug: str) -> str:
    """Show the formats there are."""
    campaign = find_campaign(reading(), slug)
    problem = ""
    try:
        check_learnable(definition_of(campaign))
    except InvalidInput as error:
        problem = str(error)
    return render_template(
        "campaign/export.html",
        campaign=campaign,
        progress=progress_of(campaign),
        shares=TrainingQuery(),
        not_learnable=problem,
    )


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


@blueprint.get("/training.zip")
@policy("viewer")
def training(slug: str) -> Response:
    """Return the examples for fine-tuning, one file for each part."""
    query = TrainingQuery.from_request()
    shares = (query.train, query.validation, query.test)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in training_files(training_examples(reading(), slug, shares=shares, seed=query.seed)).items():
            archive.writestr(zipfile.ZipInfo(name), lines, zipfile.ZIP_DEFLATED)
    headers = {"Content-Disposition": f'attachment; filename="{slug}-training.zip"'}
    return Response(packed.getvalue(), content_type="application/zip", headers=headers)
