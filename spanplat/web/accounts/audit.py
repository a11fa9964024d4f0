"""Page and download of the audit log."""

import json

from flask import Blueprint, Response, render_template, request

from spanplat.formats.tables import Table
from spanplat.services.accounts.audit import AuditLine, list_events
from spanplat.web.downloads import table_file
from spanplat.web.names import AUDITED
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("audit", __name__, url_prefix="/admin/audit")

LINES_PER_PAGE = 100
MOST_LINES_IN_A_FILE = 1_000_000


@blueprint.get("")
@policy("admin")
def show() -> str:
    """Show the log, newest first."""
    # One line more than is shown tells whether there is another page.
    lines = _lines(LINES_PER_PAGE + 1)
    # The next page starts below a line and not at a number: new lines, which come first, would shift numbered pages.
    more = lines[LINES_PER_PAGE - 1].id if len(lines) > LINES_PER_PAGE else None
    arguments = {name: request.args[name] for name in ("thing", "subject", "actor") if request.args.get(name)}
    return render_template(
        "audit.html", lines=lines[:LINES_PER_PAGE], more=more, things=list(AUDITED), arguments=arguments
    )


@blueprint.get("/<name>")
@policy("admin")
def download(name: str) -> Response:
    """Return the log as a file, with the filters of the page."""
    columns = ["id", "at", "actor", "name", "verb", "subject", "detail"]
    rows = [
        [
            line.id,
            line.at.isoformat(),
            line.actor,
            line.actor_name,
            line.verb,
            line.subject,
            json.dumps(line.detail, ensure_ascii=False) if line.detail else None,
        ]
        for line in _lines(MOST_LINES_IN_A_FILE)
    ]
    return table_file({"audit": Table("audit", columns, rows, "Audit log")}, name)


def _number_of_line(text: str) -> int:
    """Read the number of a line, limited to the range of the database, because the address may contain any number."""
    return max(0, min(int(text), 2**63 - 1))


def _lines(limit: int) -> list[AuditLine]:
    return list_events(
        reading(),
        actor=request.args.get("actor"),
        subject=request.args.get("subject"),
        thing=request.args.get("thing"),
        before=request.args.get("before", type=_number_of_line),
        limit=limit,
    )
