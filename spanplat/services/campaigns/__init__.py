"""Campaigns: definitions, drafts, planning, launching, changing, importing and exporting."""

from spanplat.services.campaigns.annotators import add_annotator, find_annotator, find_or_add_annotator
from spanplat.services.campaigns.definitions import category_ids, definition_of, parsed_definition
from spanplat.services.campaigns.importing import import_campaign, remove_interrupted
from spanplat.services.campaigns.launching import open_campaign, remove_abandoned, store_campaign, store_campaigns
from spanplat.services.campaigns.lifecycle import (
    add_campaign,
    find_campaign,
    list_campaigns,
    store_plan,
)
from spanplat.services.campaigns.planning import CampaignPlan, ItemPlan, check_definition, plan_campaign
from spanplat.services.campaigns.progress import CampaignProgress
from spanplat.services.campaigns.prompt_inputs import inputs_for_prompts, take_inputs
from spanplat.services.campaigns.selection import SelectionError
from spanplat.services.campaigns.shipped_datasets import DEMO_DATASET
from spanplat.services.campaigns.suggestions import ItemSuggestion, suggestions_of

__all__ = [
    "DEMO_DATASET",
    "CampaignPlan",
    "CampaignProgress",
    "ItemPlan",
    "ItemSuggestion",
    "SelectionError",
    "add_annotator",
    "add_campaign",
    "category_ids",
    "check_definition",
    "definition_of",
    "find_annotator",
    "find_campaign",
    "find_or_add_annotator",
    "import_campaign",
    "inputs_for_prompts",
    "list_campaigns",
    "open_campaign",
    "parsed_definition",
    "plan_campaign",
    "remove_abandoned",
    "remove_interrupted",
    "store_campaign",
    "store_campaigns",
    "store_plan",
    "suggestions_of",
    "take_inputs",
]
