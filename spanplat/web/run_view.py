"""A model run as its campaign's page tells of it: what it would take, why it ended, whether a worker is at it, and what helps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _

from spanplat.errors import InvalidInput
from spanplat.models import Campaign, CampaignStatus, Job
from spanplat.services import jobs
from spanplat.services.model_runs.estimates import Estimate
from spanplat.services.progress import CampaignProgress
from spanplat.services.runs import KEPT, estimate_run, stops_at_ceiling
from spanplat.web.session import reading

ADVICE: Mapping[str, Any] = {
    "refusal": _("A model that refuses a text mostly refuses it again: try another model or prompt."),
    "cut off": _("Leave room for longer replies, with model.max_tokens in a copy of the campaign."),
    "no answer": _("See what the model wrote, below; another prompt or reply_format may suit it better."),
    "wrong shape": _("See what the model wrote, below; another prompt or reply_format may suit it better."),
    "empty": _("Mostly passing trouble: run the model again."),
    "timeout": _("Run the model again when the server is less busy, or give it more time with model.timeout."),
    "unreachable": _("See whether the server runs and can be reached from here, then run the model again."),
    "status 429": _("Too much was asked at once: wait, or set model.requests_per_minute or a lower concurrency."),
    "batch": _("The provider took none of it: see what it says, then run the model again."),
}
"""What helps against a kind of failure."""


@dataclass(frozen=True)
class Outlook:
    """What running the model now would take, or why it cannot be run."""

    estimate: Estimate | None = None
    problem: str = ""
    is_at_ceiling: bool = False
    """Whether the next call might cost more than the campaign's ceiling leaves."""


def outlook_of(campaign: Campaign, progress: CampaignProgress) -> Outlook | None:
    """Return what a run would take; None while there is one, and when nothing is left to ask about."""
    is_open = campaign.kind == "llm" and campaign.status == CampaignStatus.OPEN
    if not is_open or progress.is_running or progress.is_finished:
        return None
    try:
        estimate = estimate_run(reading(), campaign)
        if not estimate.items:  # a batch at the provider holds what is left
            return None
        return Outlook(estimate, is_at_ceiling=stops_at_ceiling(reading(), campaign))
    except InvalidInput as error:
        return Outlook(problem=str(error))


def reason_of(run: Job) -> str:
    """Return why a run failed, as a sentence, without what its page says anyway."""
    reason = (run.error or "").rpartition(KEPT)[2]
    return reason[:1].upper() + reason[1:]


def silent_since(run: Job) -> datetime | None:
    """Return since when no worker has been heard of that is or should be at a run; None where that is not long."""
    return jobs.silent_since(run, datetime.now(UTC))


def advice_on(kind: str) -> str:
    """Return what helps against a kind of failure."""
    if kind.startswith("status 5"):
        return str(_("The server's own trouble, which mostly passes: run the model again later."))
    if kind.startswith("status ") and kind not in ADVICE:
        return str(_("The provider refuses the request: see what it says, and check the prompt and model.parameters."))
    return str(ADVICE.get(kind, _("Run the model again; what fails again needs a look at its error.")))


def init_app(app: Flask) -> None:
    """Make these known to the templates."""
    app.jinja_env.globals.update(reason_of=reason_of, silent_since=silent_since, advice_on=advice_on)
