"""Registry of the formats from which campaigns can be imported, for the command and the service.

A new format is a module with a reader and an entry in `IMPORT_FORMATS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spanplat.errors import InvalidInput
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.import_formats import factgenie, native
from spanplat.services.campaigns.import_formats.source import ImportSource


@dataclass(frozen=True)
class ImportFormat:
    """Kind of file or folder from which a campaign can be imported."""

    name: str
    """Value of ``--format``."""
    title: str
    """Description for help texts, in lower case and without a full stop."""
    extensions: tuple[str, ...]
    """File extensions with the dot; empty for a folder."""
    open: Callable[[Path, str, CampaignDefinition | None], ImportSource]
    """Function of the path, the campaign's slug, and the definition if the format does not contain it."""

    @property
    def help(self) -> str:
        """Description with the file extensions."""
        return f"{self.title} ({', '.join(self.extensions) or 'a folder'})"


IMPORT_FORMATS: tuple[ImportFormat, ...] = (
    ImportFormat(native.NAME, "annotations as spanplat exports them", (".jsonl", ".csv"), native.open_native),
    ImportFormat(factgenie.NAME, "a campaign of factgenie, published or installed", (), factgenie.open_factgenie),
)
"""All formats, in the order in which they are offered."""


def find_import_format(name: str) -> ImportFormat:
    """Return the format of a name.

    Raises
    ------
    InvalidInput
        If there is none; the message lists the existing formats.
    """
    for entry in IMPORT_FORMATS:
        if entry.name == name:
            return entry
    listed = ", ".join(entry.name for entry in IMPORT_FORMATS)
    raise InvalidInput(f"{name!r} is not a format campaigns are imported from ({listed})")
