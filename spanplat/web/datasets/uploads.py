"""Pages for importing a file as a dataset: upload, roles of columns, and import."""

from functools import partial
from pathlib import Path

from flask import Blueprint, Flask, Response, current_app, redirect, render_template, request, url_for
from flask_babel import gettext as _
from flask_login import current_user
from werkzeug.utils import secure_filename
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import InvalidInput
from spanplat.formats.tables import Table
from spanplat.models import Job, JobState, Upload
from spanplat.schemas.slug import slugify
from spanplat.services.datasets.import_preview import preview_dataset
from spanplat.services.datasets.uploads import (
    add_upload,
    drop_upload,
    find_import_job,
    find_incoming,
    find_upload,
    receive_file,
    remove_file,
    start_import,
)
from spanplat.web.background.dispatch import wake_worker
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading, transaction
from spanplat.web.sources import html_of

blueprint = Blueprint("uploads", __name__, url_prefix="/admin/datasets/uploads")

MOST_BYTES = 256 * 1024**2
"""Maximum size of an uploaded file; larger files are copied to the server."""

ROLES = ("text", "system", "key", "source", "split", "dataset")
NO_COLUMN = "-"
"""Value in the address for a role without a column."""


def init_app(app: Flask) -> None:
    """Raise the size limit of the upload route. Call it before anything else reads forms."""

    def allow() -> None:
        if request.endpoint == "uploads.receive":
            request.max_content_length = MOST_BYTES + 1024**2  # the form around the file

    app.before_request(allow)


@blueprint.post("")
@policy("researcher")
def receive() -> AnyResponse:
    """Receive an uploaded file, or take a file from the folder on the server."""
    name = request.form.get("incoming", "")
    if name:
        path, size = find_incoming(_home(), name)
    else:
        sent = request.files.get("file")
        name = secure_filename(sent.filename or "") if sent is not None else ""
        if sent is None or not name:
            raise InvalidInput(_("choose a file first"))
        path, size = receive_file(_home(), name, sent.stream, most_bytes=MOST_BYTES)
    with transaction() as session:
        upload = add_upload(session, name, path, size, current_user.id)
    return redirect(url_for("uploads.show", token=upload.token), 303)


@blueprint.get("/<token>")
@policy("researcher")
def show(token: str) -> AnyResponse | str:
    """Show how the file would be read; during the import its progress, and afterwards its result."""
    upload = find_upload(reading(), token)
    job = find_import_job(reading(), upload)
    if upload.imported_at is not None:
        if is_htmx():  # the whole page changes when the import ends, not only its live part
            return Response(status=200, headers={"HX-Redirect": url_for("uploads.show", token=token)})
        return render_template("dataset/imported.html", upload=upload, report=upload.report)
    if job is not None and job.state in (JobState.QUEUED, JobState.RUNNING):
        template = "dataset/_importing.html" if is_htmx() else "dataset/importing.html"
        return unless_unchanged(render_template(template, upload=upload, job=job))
    return _settle(upload, job)


@blueprint.post("/<token>")
@policy("researcher")
def begin(token: str) -> AnyResponse:
    """Queue the import of the file for the worker."""
    name = slugify(request.form["name"]) if request.form.get("name", "").strip() else None
    columns = {role: request.form[role] for role in ROLES if role in request.form}
    settled = {role: None if column == NO_COLUMN else column for role, column in columns.items()}
    with transaction() as session:
        job = start_import(session, token, name, settled)
    wake_worker(job.id)
    return redirect(url_for("uploads.show", token=token), 303)


@blueprint.post("/<token>/drop")
@policy("researcher")
def drop(token: str) -> AnyResponse:
    """Delete the uploaded file."""
    with transaction() as session:
        upload = drop_upload(session, token)
    # After the commit: if the transaction fails, the upload still needs its file.
    remove_file(_home(), upload)
    return redirect(url_for("datasets.index"), 303)


@blueprint.get("/<token>/<name>")
@policy("researcher")
def problems(token: str, name: str) -> Response:
    """Return a file with the rows that could not be imported."""
    upload = find_upload(reading(), token)
    rows = [[problem] for problem in (upload.report or {}).get("problems", [])]
    caption = f"Rows of {upload.name} that could not be used"
    return table_file({"problems": Table(f"{slugify(upload.name)}-problems", ["problem"], rows, caption)}, name)


def _settle(upload: Upload, job: Job | None) -> str:
    chosen = {role: request.args[role] for role in ROLES if request.args.get(role)}
    columns = {role: None if column == NO_COLUMN else column for role, column in chosen.items()}
    path = _home() / upload.path
    preview = preview_dataset(path, columns)
    return render_template(
        "dataset/settle.html",
        upload=upload,
        preview=preview,
        source_html=partial(html_of, None),
        roles=_role_names(),
        no_column=NO_COLUMN,
        name=request.args.get("name", "") or ("" if preview.names_dataset else slugify(Path(upload.name).stem)),
        failed=job.error if job is not None and job.state == JobState.FAILED else "",
    )


def _role_names() -> dict[str, tuple[str, str]]:
    """Return the name and the meaning of each role."""
    return {
        "text": (_("Text"), _("what is annotated")),
        "system": (_("System"), _("what produced the text")),
        "key": (_("Key"), _("names the example; rows with the same key share a source")),
        "source": (_("Source"), _("what the text was made from")),
        "split": (_("Split"), _("a part of the dataset, such as test")),
        "dataset": (_("Dataset"), _("if the file holds several")),
    }


def _home() -> Path:
    home: Path = current_app.extensions["spanplat_settings"].home
    return home
