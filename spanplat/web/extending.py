"""Extending a campaign in the browser: what it adds and costs is shown first, and made only if it is still that."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask import Blueprint, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from spanplat.errors import Conflict, InvalidInput, SpanplatError
from spanplat.models import Campaign
from spanplat.schemas.assignment import DataSelection
from spanplat.services.campaigns import find_campaign
from spanplat.services.datasets import dataset_summary
from spanplat.services.definitions import definition_of
from spanplat.services.forecasts import Forecast, Wish, extend, forecast_of
from spanplat.web.campaigns import progress_of
from spanplat.web.errors import status_of
from spanplat.web.policy import policy
from spanplat.web.session import forget_snapshot, reading, transaction, try_out

blueprint = Blueprint("extending", __name__, url_prefix="/admin/campaigns/<slug>/extend")

MOST_PER_OUTPUT = 10_000


@blueprint.get("")
@policy("researcher")
def edit(slug: str) -> str:
    """Ask what is to be added."""
    return _page(find_campaign(reading(), slug))


@blueprint.post("")
@policy("researcher")
def save(slug: str) -> Response | str | tuple[str, int]:
    """Tell what an extension would add and cost, or make it."""
    campaign = find_campaign(reading(), slug)
    try:
        wish = _read_wish(campaign)
        if request.form.get("act") == "extend":
            with transaction() as session:
                _require_as_shown(forecast_of(session, slug, extend(session, slug, wish)))
            return redirect(url_for("campaigns.show", slug=slug), 303)
        trial = try_out()
        forecast = forecast_of(trial, slug, extend(trial, slug, wish))
    except SpanplatError as error:
        forget_snapshot()
        return _page(find_campaign(reading(), slug), refused=str(error)), status_of(error)
    forget_snapshot()
    return _page(find_campaign(reading(), slug), forecast=forecast)


def _read_wish(campaign: Campaign) -> Wish:
    """Read what is to be added; a number of annotators that is the present one adds none.

    Raises
    ------
    InvalidInput
        If nothing is to be added, or the number is none.
    """
    present = definition_of(campaign).annotators.per_output
    typed = request.form.get("per_output", "").strip().replace(",", ".")
    try:
        per_output = float(typed) if typed else present
    except ValueError:
        per_output = float("nan")
    if not 1 <= per_output <= MOST_PER_OUTPUT:
        raise InvalidInput(f"annotators per output must be a number from 1 to {MOST_PER_OUTPUT:,}, not {typed!r}")
    splits, systems = request.form.getlist("split"), request.form.getlist("system")
    limit = _read_limit(request.form.get("limit", "").strip(), definition_of(campaign).data)
    adds_outputs = request.form.get("outputs") == "yes" or bool(splits or systems or limit)
    if per_output == present and not adds_outputs:
        raise InvalidInput("say what to add: more annotators per output, more outputs, or both")
    return Wish(None if per_output == present else per_output, adds_outputs, splits, systems, limit)


def _read_limit(typed: str, selection: DataSelection | None) -> int | None:
    """Read how many outputs there may be in all; None where that stays as it is."""
    if not typed:
        return None
    if not re.fullmatch(r"[1-9]\d{0,8}", typed):
        raise InvalidInput(f"the most outputs in all must be a whole number from 1, not {typed!r}")
    return None if selection is not None and int(typed) == selection.limit else int(typed)


def _require_as_shown(forecast: Forecast) -> None:
    """Make sure that what was shown is what is made: outputs may have been imported meanwhile, or the reward amended."""
    if request.form.get("shown") != _mark_of(forecast):
        raise Conflict("this would add something else by now, or cost something else; nothing was added, look again")


def _mark_of(forecast: Forecast) -> str:
    added = forecast.extension
    money = [f"{amount.currency}{amount.amount:.2f}" for amount in (forecast.reward, forecast.bonus) if amount]
    return "/".join([str(added.outputs), str(added.batches), str(added.seats), *money])


@dataclass(frozen=True)
class Widening:
    """What the definition leaves out of the dataset and an extension may bring in, with the numbers of texts."""

    splits: Mapping[str, int]
    systems: Mapping[str, int]
    limit: int | None
    """The most outputs in all now."""


def _widening(campaign: Campaign) -> Widening | None:
    """Return what of the dataset is left out; None where the campaign selects no data."""
    selection = definition_of(campaign).data
    if selection is None:
        return None
    summary = dataset_summary(reading(), selection.dataset)
    return Widening(
        _others(summary.splits, selection.splits), _others(summary.systems, selection.systems), selection.limit
    )


def _others(there: Mapping[str, int], selected: Sequence[str]) -> Mapping[str, int]:
    """Return those that are not selected; where none is named, all are."""
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
