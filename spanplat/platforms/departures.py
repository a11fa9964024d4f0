"""Return address to the platform at the end of a visit, with the completion code."""

from collections.abc import Mapping

from spanplat.platforms.platform import Departure
from spanplat.schemas.platform import PlatformSettings


def departure(settings: PlatformSettings, outcome: str, parameters: Mapping[str, str]) -> Departure:
    """Return the last step of a visit for an outcome.

    Parameters
    ----------
    settings
        The campaign's platform.
    outcome
        ``completed``, ``failed_attention``, ``screened_out`` or ``no_consent``.
    parameters
        Parameters of the start link.
    """
    code: str | None = getattr(settings.codes, outcome)
    url = str(settings.completion_url) if settings.completion_url else None
    return settings.profile.departure(outcome, code, url, parameters)
