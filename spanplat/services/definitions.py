"""Parsed campaign definitions, kept per process: a definition is frozen under its digest, so a parsed copy never grows old."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from spanplat.models import Campaign, Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.kept import Kept

MOST_KEPT = 512

_definitions: dict[str, CampaignDefinition] = {}
_category_ids: Kept[tuple[int, str], Mapping[str, int]] = Kept(MOST_KEPT)


def definition_of(campaign: Campaign) -> CampaignDefinition:
    """Return a campaign's parsed definition."""
    return parsed_definition(campaign.definition_sha256, lambda: campaign.definition)


def parsed_definition(sha256: str, load: Callable[[], dict[str, Any]]) -> CampaignDefinition:
    """Return the parsed definition with this digest; ``load`` is called when it is not known yet."""
    definition = _definitions.get(sha256)
    if definition is None:
        definition = CampaignDefinition.model_validate(load())
        if len(_definitions) >= MOST_KEPT:
            _definitions.clear()
        _definitions[sha256] = definition
    return definition


def category_ids(reader: Session | Connection, campaign_id: int, sha256: str) -> Mapping[str, int]:
    """Return the ids of a campaign's categories by key, as of the definition with this digest."""

    def read() -> Mapping[str, int]:
        rows = reader.execute(select(Category.key, Category.id).where(Category.campaign_id == campaign_id))
        return {key: identifier for key, identifier in rows}

    return _category_ids.find(reader, (campaign_id, sha256), read)
