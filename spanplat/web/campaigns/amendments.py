"""Pages for amending a campaign's definition: the text, its changes and the reason."""

import difflib
from collections.abc import Iterator
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from spanplat.errors import InvalidInput, SpanplatError
from spanplat.models import Campaign
from spanplat.schemas.definition_file import parse_yaml
from spanplat.services.campaigns.amendments import amend, definition_text, dotted, propose_amendment
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.errors import status_of
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx
from spanplat.web.session import reading, transaction

blueprint = Blueprint("amendments", __name__, url_prefix="/admin/campaigns/<slug>/amend")

LONGEST_TEXT = 2_000_000
"""Maximum length of a definition in characters."""


@blueprint.get("")
@policy("researcher")
def edit(slug: str) -> str:
    """Show the present definition for editing."""
    campaign = find_campaign(reading(), slug)
    return _page(campaign, definition_text(definition_of(campaign)))


@blueprint.post("")
@policy("researcher")
def save(slug: str) -> Response | str | tuple[str, int]:
    """Show the changes of an edited definition, or put it in force."""
    text = request.form.get("text", "").replace("\r\n", "\n")
    campaign = find_campaign(reading(), slug)
    if is_htmx():
        return render_template("amendment/_changes.html", **_changes(campaign, text))
    if request.form.get("act") != "amend":
        return _page(campaign, text)
    note = request.form.get("note", "")
    try:
        source = parse_yaml(_fitting(text))
        with transaction() as session:
            amend(session, slug, source, note, base=request.form.get("base", type=int))
    except SpanplatError as error:  # shown on this page and not on an error page, so that the typed text is not lost
        return _page(campaign, text, note=note, refused=str(error)), status_of(error)
    return redirect(url_for("campaigns.definition", slug=slug), 303)


def _page(campaign: Campaign, text: str, *, note: str = "", refused: str = "") -> str:
    return render_template(
        "amendment/edit.html",
        campaign=campaign,
        progress=progress_of(campaign),
        text=text,
        note=note,
        refused=refused,
        # The number from the first page stays: with a newer one, `amend` could not notice a change by somebody else.
        base=request.form.get("base", campaign.amendment, type=int),
        **_changes(campaign, text),
    )


def _changes(campaign: Campaign, text: str) -> dict[str, Any]:
    """Return the changes of a text, line by line, and the problem that forbids them."""
    before = definition_text(definition_of(campaign))
    if text == before:
        return {"places": [], "lines": [], "problem": ""}
    try:
        proposal = propose_amendment(reading(), campaign.slug, parse_yaml(_fitting(text)))
    except SpanplatError as error:
        return {"places": [], "lines": list(_lines(before, text)), "problem": str(error)}
    lines = _lines(before, definition_text(proposal.definition))
    return {"places": [dotted(path) for path in proposal.changes], "lines": list(lines), "problem": ""}


def _lines(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of the difference, each with its kind: ``del``, ``ins``, or nothing for an unchanged line."""
    kinds = {"-": "del", "+": "ins", " ": ""}
    # The first two lines are the names of the files.
    for line in list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm=""))[2:]:
        yield ("", "…") if line.startswith("@@") else (kinds[line[0]], line[1:])


def _fitting(text: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise InvalidInput(f"the definition has {len(text):,} characters; at most {LONGEST_TEXT:,} are accepted")
    return text
