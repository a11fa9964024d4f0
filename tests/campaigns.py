"""Campaigns of tests, stored at once."""

import contextlib

from sqlalchemy.orm import Session

from spanplat.models import Campaign
from spanplat.services.campaigns.lifecycle import add_campaign, first_status, note_creation, store_plan
from spanplat.services.campaigns.planning import CampaignPlan


def create_campaign(session: Session, plan: CampaignPlan) -> Campaign:
    """Store a planned campaign in the caller's transaction, so that a test can store what belongs to it in the same one."""
    campaign = add_campaign(session, plan.definition, first_status(plan.definition))
    store_plan(lambda: contextlib.nullcontext(session), campaign.id, plan)
    note_creation(session, campaign)
    return campaign
