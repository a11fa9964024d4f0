"""Opened source of an import, the same for all formats."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanplat.formats.problem import Problem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.import_records import IncomingAnnotation

Incoming = IncomingAnnotation | Problem


@dataclass(frozen=True)
class ImportSource:
    """Campaign to import: its definition, its files, and its annotations, which can be read several times."""

    definition: CampaignDefinition
    files: tuple[Path, ...]
    kept: dict[str, Any]
    """Settings as received, stored with the campaign; ``format`` names the format."""
    annotations: Callable[[Mapping[str, str]], Iterator[Incoming]]
    """Function that yields the annotations in file order; its argument maps old slugs of systems to new ones."""
