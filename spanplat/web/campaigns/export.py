"""Downloads of a campaign's annotations, in export formats and as training data."""

import io
import zipfile
from collections.abc import Iterator

from flask import Blueprint, Response, render_template
from pydantic import Field

from spanplat.errors import InvalidInput
from spanplat.formats.exports import EXPORT_FORMATS, find_export_format
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.model_work.training import SHARES, check_learnable, training_examples, training_files
from spanplat.web.address import AddressQuery
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("export", __name__, url_prefix="/admin/campaigns/<slug>")


class TrainingQuery(AddressQuery):
    """Query of the form for training data."""

    train: float = Field(default=SHARES[0], ge=0, allow_inf_nan=False)
    validation: float = Field(default=SHARES[1], ge=0, allow_inf_nan=False)
    test: float = Field(default=SHARES[2], ge=0, allow_inf_nan=False)
    seed: int = 42


@blueprint.get("/export")
@policy("viewer")
def show(slug: str) -> str:
    """Show the export formats."""
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
        formats=EXPORT_FORMATS,
        shares=TrainingQuery(),
        not_learnable=problem,
    )


@blueprint.get("/export.<format_name>")
@policy("viewer")
def download(slug: str, format_name: str) -> Response:
    """Stream the annotations as a file."""
    chosen = find_export_format(format_name)
    find_campaign(reading(), slug)  # an unknown campaign gives 404 now; once the stream has begun, the status is sent
    store = database()  # the response is written after the request's own snapshot is closed

    def lines() -> Iterator[str]:
        with store.reading() as session:
            yield from chosen.write(export_records(session, slug))

    headers = {"Content-Disposition": f'attachment; filename="{slug}.{chosen.extension}"'}
    return Response(lines(), content_type=f"{chosen.media_type}; charset=utf-8", headers=headers)


@blueprint.get("/training.zip")
@policy("viewer")
def training(slug: str) -> Response:
    """Return the training examples as a ZIP archive with one file for each part."""
    query = TrainingQuery.from_request()
    shares = (query.train, query.validation, query.test)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in training_files(training_examples(reading(), slug, shares=shares, seed=query.seed)).items():
            # ZipInfo has a fixed date, so that the same examples give the same file.
            archive.writestr(zipfile.ZipInfo(name), lines, zipfile.ZIP_DEFLATED)
    headers = {"Content-Disposition": f'attachment; filename="{slug}-training.zip"'}
    return Response(packed.getvalue(), content_type="application/zip", headers=headers)
