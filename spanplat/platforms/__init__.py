"""Crowdsourcing platforms: start links, return addresses, files for pay, and rules.

To add a platform, write a module here and add an entry to `PLATFORMS`. Definitions, links, pages, pools and files for pay use it.
"""

from spanplat.platforms.direct import Direct
from spanplat.platforms.mturk import MTurk
from spanplat.platforms.other import Other
from spanplat.platforms.platform import Platform
from spanplat.platforms.prolific import Prolific

PLATFORMS: tuple[Platform, ...] = (Direct(), Prolific(), MTurk(), Other())
"""In the order in which definitions list them; the first is the default."""
PLATFORM_NAMES: tuple[str, ...] = tuple(platform.name for platform in PLATFORMS)


def find_platform(name: str) -> Platform:
    """Return the platform with a name from a definition.

    Raises
    ------
    KeyError
        There is no such platform.
    """
    return {platform.name: platform for platform in PLATFORMS}[name]
