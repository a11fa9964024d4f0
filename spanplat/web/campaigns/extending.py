"""Pages for extending a campaign: a forecast first, then the extension if the forecast is still right."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, InvalidInput, SpanplatError
from spanplat.models import Campaign
from spanplat.schemas.assignment import DataSelection
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.extending import ExtensionRequest, Forecast, extend, forecast_of, plan_extension
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.datasets.listing import dataset_summary
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.errors import status_of
from spanplat.web.policy import policy
from spanplat.web.session import actor, database, forget_snapshot, reading

blueprint = Blueprint("extending", __name__, url_prefix="/admin/campaigns/<slug>/extend")

MOST_PER_OUTPUT = 10_000


@blueprint.get("")
@policy("researcher")
def edit(slug: str) -> str:
    """Show the form for an extension."""
    return _page(find_campaign(reading(), slug))


@blueprint.post("")
@policy("researcher")
def save(slug: str) -> Response | str | tuple[str, int]:
    """Show the forecast of an extension, or make it."""
    campaign = find_campaign(reading(), slug)
    try:
        plan = plan_extension(reading(), slug, _read_request(campaign))
        forecast = forecast_of(reading(), slug, plan.extension)
        if request.form.get("act") == "extend":
            _require_as_shown(forecast)
            forget_snapshot()  # an extension may take long, and an open snapshot would hold a connection
            extend(database().acting_as(actor()), plan)
            return redirect(url_for("campaigns.show", slug=slug), 303)
    except SpanplatError as error:
        forget_snapshot()
        # The reason may be a change since the snapshot, so the page shows the present campaign.
        return _page(find_campaign(reading(), slug), refused=str(error)), status_of(error)
    forget_snapshot()
    return _page(find_campaign(reading(), slug), forecast=forecast)


def _read_request(campaign: Campaign) -> ExtensionRequest:
    """Read the form. The present number of annotators means that none are added.

    Raises
    ------
    InvalidInput
        If the form adds nothing, or if the number is not valid.
    """
    present = definition_of(campaign).annotators.per_output
    typed = request.form.get("per_output", "").strip().replace(",", ".")
    try:
        per_output = float(typed) if typed else present
    except ValueError:
        per_output = float("nan")  # fails the comparison below, like a number out of range
    if not 1 <= per_output <= MOST_PER_OUTPUT:
        raise InvalidInput(f"annotators per output must be a number from 1 to {MOST_PER_OUTPUT:,}, not {typed!r}")
    splits, systems = request.form.getlist("split"), request.form.getlist("system")
    limit = _read_limit(request.form.get("limit", "").strip(), definition_of(campaign).data)
    adds_outputs = request.form.get("outputs") == "yes" or bool(splits or systems or limit)
    if per_output == present and not adds_outputs:
        raise InvalidInput("say what to add: more annotators per output, more outputs, or both")
    return ExtensionRequest(None if per_output == present else per_output, adds_outputs, splits, systems, limit)


def _read_limit(typed: str, selection: DataSelection | None) -> int | None:
    """Read the limit of outputs in all; None if it does not change."""
    if not typed:
        return None
    if not re.fullmatch(r"[1-9]\d{0,8}", typed):
        raise InvalidInput(f"the most outputs in all must be a whole number from 1, not {typed!r}")
    return None if selection is not None and int(typed) == selection.limit else int(typed)


def _require_as_shown(forecast: Forecast) -> None:
    """Check that the forecast is the one that was shown. Meanwhile outputs may have been imported, or the reward amended."""
    if request.form.get("shown") != _mark_of(forecast):
        raise Conflict("this would add something else by now, or cost something else; nothing was added, look again")


def _mark_of(forecast: Forecast) -> str:
    added = forecast.extension
    money = [f"{amount.currency}{amount.amount:.2f}" for amount in (forecast.reward, forecast.bonus) if amount]
    return "/".join([str(added.outputs), str(added.batches), str(added.seats), *money])


@dataclass(frozen=True)
class Widening:
    """Parts of the dataset that the definition leaves out and an extension may add, with their numbers of texts."""

    splits: Mapping[str, int]
    systems: Mapping[str, int]
    limit: int | None
    """Present limit of outputs in all."""


def _widening(campaign: Campaign) -> Widening | None:
    """Return the parts of the dataset that are left out; None if the campaign selects no data."""
    selection = definition_of(campaign).data
    if selection is None:
        return None
    summary = dataset_summary(reading(), selection.dataset)
    return Widening(
        _others(summary.splits, selection.splits), _others(summary.systems, selection.systems), selection.limit
    )


def _others(there: Mapping[str, int], selected: Sequence[str]) -> Mapping[str, int]:
    """Return those that are not selected. An empty selection means that all are selected."""
    return {name: count for name, count in there.items() if name not in selected} if selected else {}


def _page(campaign: Campaign, *, forecast: Forecast | None = None, refused: str = "") -> str:
    return render_template(
        "campaign/extend.html",
        campaign=campaign,
        progress=progress_of(campaign),
        present=definition_of(campaign).annotators.per_output,
        per_output=request.form.get("per_output"),
        outputs=request.form.get("outputs") == "yes",
        widening=_widening(campaign),
        splits=request.form.getlist("split"),
        systems=request.form.getlist("system"),
        limit=request.form.get("limit"),
        forecast=forecast,
        shown=_mark_of(forecast) if forecast else "",
        refused=refused,
    )
