"""Any other platform, or a researcher's own participant pool."""

from typing import ClassVar

from spanplat.platforms.platform import ParameterNames, Platform


class Other(Platform):
    """A platform whose parameters and return address are in the definition."""

    name: ClassVar[str] = "other"
    title: ClassVar[str] = "another platform"

    def link_query(self, named: ParameterNames) -> str:
        """Return the query of the start link, with an ellipsis for each value that the platform must fill in."""
        return f"{named.person}=…&{named.study}=…&{named.session}=…"
