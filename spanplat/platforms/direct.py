"""Direct links: researchers send them to annotators themselves."""

import secrets
from collections.abc import Mapping
from typing import ClassVar

from spanplat.platforms.platform import Arrival, ParameterNames, Platform, PlatformIds


class Direct(Platform):
    """No platform: people follow a link, and may state a name."""

    name: ClassVar[str] = "direct"
    title: ClassVar[str] = "direct links"
    is_marketplace: ClassVar[bool] = False

    def read_arrival(self, query: Mapping[str, str], named: ParameterNames) -> Arrival:
        """Use the name in the query, or create a random one."""
        del named
        # Random bits, because anybody who guesses the name reaches this person's work.
        person = query.get("annotator", "").strip() or f"anonymous-{secrets.token_hex(8)}"
        kept = {"annotator": person} if "annotator" in query else {}
        return Arrival(self.name, person, f"{self.name}:{person}", kept)

    def ids(self, person: str, parameters: Mapping[str, str], named: ParameterNames) -> PlatformIds:
        """Return only the name; there is no submission and no study."""
        del parameters, named
        return PlatformIds(person, "", "")
