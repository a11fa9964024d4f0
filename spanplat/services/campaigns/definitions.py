"""Cache of parsed campaign definitions per process; the key is the digest of the definition, so entries never become stale."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.orm import Session

from spanplat.db.cache import DatabaseCache
from spanplat.models import Campaign, Category
from spanplat.schemas.definition import CampaignDefinition

MOST_KEPT = 512

_definitions: dict[str, CampaignDefinition] = {}
# One cache for each database, because ids differ between databases. Definitions contain no ids.
_category_ids: DatabaseCache[tuple[int, str], Mapping[str, int]] = DatabaseCache(MOST_KEPT)


def definition_of(campaign: Campaign) -> CampaignDefinition:
    """Return a campaign's parsed definition."""
    return parsed_definition(campaign.definition_sha256, lambda: campaign.definition)


def parsed_definition(sha256: str, load: Callable[[], dict[str, Any]]) -> CampaignDefinition:
    """Return the parsed definition with this digest; call ``load`` if it is not cached."""
    definition = _definitions.get(sha256)
    if definition is None:
        definition = CampaignDefinition.model_validate(load())
        if len(_definitions) >= MOST_KEPT:
            # Simpler than removing the least recently used, and rare.
            _definitions.clear()
        _definitions[sha256] = definition
    return definition


def category_ids(reader: Session | Connection, campaign_id: int, sha256: str) -> Mapping[str, int]:
    """Return the category ids of a campaign by key, cached under the digest of its definition."""

    def read() -> Mapping[str, int]:
        rows = reader.execute(select(Category.key, Category.id).where(Category.campaign_id == campaign_id))
        return {key: identifier for key, identifier in rows}

    return _category_ids.find(reader, (campaign_id, sha256), read)
