"""Parsed campaign definitions, kept per process: a definition is frozen under its digest, so a parsed copy never grows old."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.models import Campaign, Category
from spanplat.schemas.definition import CampaignDefinition

MOST_KEPT = 512

_definitions: dict[str, CampaignDefinition] = {}
_category_ids: dict[tuple[int, str], Mapping[str, int]] = {}


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


def category_ids(session: Session, campaign_id: int, sha256: str) -> Mapping[str, int]:
    """Return the ids of a campaign's categories by key, as of the definition with this digest."""
    ids = _category_ids.get((campaign_id, sha256))
    if ids is None:
        rows = session.execute(select(Category.key, Category.id).where(Category.campaign_id == campaign_id))
        ids = {key: identifier for key, identifier in rows}
        if len(_category_ids) >= MOST_KEPT:
            _category_ids.clear()
        _category_ids[campaign_id, sha256] = ids
    return ids
