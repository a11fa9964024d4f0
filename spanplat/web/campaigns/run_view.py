"""Model run on its campaign's page: the estimate, the reason why it ended, the silence of its worker, and advice on failures."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _

from spanplat.errors import InvalidInput
from spanplat.models import Campaign, CampaignStatus, Job
from spanplat.services.background import jobs
from spanplat.services.campaigns.progress import CampaignProgress
from spanplat.services.model_work.campaign_target import KEPT
from spanplat.services.model_work.estimates import Estimate
from spanplat.services.model_work.figures import Failure
from spanplat.services.model_work.running import estimate_run, stops_at_ceiling
from spanplat.web.session import reading
from spanplat.web.sorted_tables import Column, SortedTable, number_column

ADVICE: Mapping[str, Any] = {
    "refusal": _("A model that refuses a text mostly refuses it again: try another model or prompt."),
    "cut off": _("Leave room for longer replies, with model.max_tokens in a copy of the campaign."),
    "no answer": _("See what the model wrote, below; another prompt or reply_format may suit it better."),
    "wrong shape": _("See what the model wrote, below; another prompt or reply_format may suit it better."),
    "empty": _("Usually a temporary failure: run the model again."),
    "timeout": _("Run the model again when the server is less busy, or give it more time with model.timeout."),
    "unreachable": _("See whether the server runs and can be reached from here, then run the model again."),
    "status 429": _("Too many requests at once: wait, or set model.requests_per_minute or a lower concurrency."),
    "batch": _("The provider refused the whole batch: read its message, then run the model again."),
}
"""Advice by kind of failure."""


@dataclass(frozen=True)
class RunOutlook:
    """Estimate of a run that starts now, or the reason why it cannot start."""

    estimate: Estimate | None = None
    problem: str = ""
    is_at_ceiling: bool = False
    """Whether the next call might cost more than the campaign's ceiling leaves."""


def outlook_of(campaign: Campaign, progress: CampaignProgress) -> RunOutlook | None:
    """Return the estimate of a run; None during a run and when no item is left."""
    is_open = campaign.kind == "llm" and campaign.status == CampaignStatus.OPEN
    if not is_open or progress.is_running or progress.is_finished:
        return None
    try:
        estimate = estimate_run(reading(), campaign)
        if not estimate.items:  # a batch at the provider holds what is left
            return None
        return RunOutlook(estimate, is_at_ceiling=stops_at_ceiling(reading(), campaign))
    except InvalidInput as error:
        return RunOutlook(problem=str(error))


def reason_of(run: Job) -> str:
    """Return the reason why a run failed, as a sentence, without the part that its page already says."""
    reason = (run.error or "").rpartition(KEPT)[2]
    return reason[:1].upper() + reason[1:]


def silent_since(run: Job) -> datetime | None:
    """Return the time since which the worker of a run has been silent; None if that is not long."""
    return jobs.silent_since(run, datetime.now(UTC))


FAILURES: SortedTable[Failure] = SortedTable(
    {
        "last-error": Column(_("Last error"), lambda failure: failure.error),
        "kind": Column(_("Kind"), lambda failure: failure.kind),
        "what-helps": Column(_("What helps"), lambda failure: advice_on(failure.kind)),
        "items": number_column(_("Items"), lambda failure: failure.items),
    }
)


def advice_on(kind: str) -> str:
    """Return the advice on a kind of failure."""
    if kind.startswith("status 5"):
        return str(_("A failure of the provider's server, usually temporary: run the model again later."))
    if kind.startswith("status ") and kind not in ADVICE:
        return str(_("The provider refuses the request: see what it says, and check the prompt and model.parameters."))
    return str(ADVICE.get(kind, _("Run the model again; what fails again needs a look at its error.")))


def init_app(app: Flask) -> None:
    """Give these functions to the templates."""
    app.jinja_env.globals.update(reason_of=reason_of, silent_since=silent_since, advice_on=advice_on)
