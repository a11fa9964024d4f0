"""Where people go when they are done: the way back to each platform, with the code they earned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from spanplat.schemas.platform import PlatformSettings

PROLIFIC_COMPLETE = "https://app.prolific.com/submissions/complete?cc={code}"
MTURK_HOSTS = frozenset({"www.mturk.com", "workersandbox.mturk.com"})
MTURK_FRAMES = (
    "www.mturk.com",
    "worker.mturk.com",
    "workersandbox.mturk.com",
    "requester.mturk.com",
    "requestersandbox.mturk.com",
)
"""Hosts that show a task in a frame, and to which the way back may lead."""


@dataclass(frozen=True)
class Departure:
    """The last step: a code to show, a link to follow, or a form to post."""

    code: str | None = None
    link: str | None = None
    post_to: str | None = None
    post_fields: dict[str, str] = field(default_factory=dict)


def departure(settings: PlatformSettings, outcome: str, parameters: Mapping[str, str]) -> Departure:
    """Return the way back for an outcome.

    Parameters
    ----------
    settings
        The campaign's platform.
    outcome
        ``completed``, ``failed_attention``, ``screened_out`` or ``no_consent``.
    parameters
        What the platform sent when the person arrived.
    """
    code: str | None = getattr(settings.codes, outcome)
    if settings.service == "mturk":
        host = _mturk_host(parameters.get("turkSubmitTo", ""))
        if host is None:
            return Departure(code)
        if outcome == "no_consent":  # the task is given back there, and nothing is handed in
            return Departure()
        fields = {"assignmentId": parameters.get("assignmentId", ""), "outcome": outcome}
        return Departure(code, post_to=f"https://{host}/mturk/externalSubmit", post_fields=fields)
    pattern = str(settings.completion_url) if settings.completion_url else None
    if settings.service == "prolific" and pattern is None:
        pattern = PROLIFIC_COMPLETE
    if pattern is None or (code is None and ("{code}" in pattern or "%7Bcode%7D" in pattern)):
        return Departure(code)
    return Departure(code, link=pattern.replace("%7Bcode%7D", "{code}").replace("{code}", code or ""))


def _mturk_host(submit_to: str) -> str | None:
    """Return the host of MTurk's submission address; None for any other, because the link's parameters can be forged."""
    try:
        parts = urlsplit(submit_to)
    except ValueError:  # not an address at all
        return None
    return parts.netloc if parts.scheme == "https" and parts.netloc in MTURK_HOSTS else None
