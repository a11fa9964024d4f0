"""Parser of the parameters of a start link."""

from collections.abc import Mapping

from spanplat.errors import InvalidInput
from spanplat.platforms.platform import Arrival
from spanplat.schemas.platform import PlatformSettings

MAX_PARAMETER_LENGTH = 200


def read_arrival(settings: PlatformSettings, query: Mapping[str, str]) -> Arrival:
    """Return the person and the visit that the query of a start link names.

    Raises
    ------
    InvalidInput
        If the platform's parameters are missing, too long, or hold control characters.
    """
    # A token is longer than any id, and is verified separately.
    signature = settings.signed.parameter if settings.signed else None
    query = {name: value for name, value in query.items() if name != signature}
    if any(len(value) > MAX_PARAMETER_LENGTH for value in query.values()):
        raise InvalidInput(f"a parameter of the link is longer than {MAX_PARAMETER_LENGTH} characters")
    if not all(value.isprintable() for value in query.values()):
        raise InvalidInput(
            "a parameter of the link holds characters that no id has; please open the link from where you got it"
        )
    return settings.profile.read_arrival(query, settings.parameter_names)
