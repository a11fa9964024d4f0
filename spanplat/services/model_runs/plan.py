"""What is run, and how; and which items its ceiling of cost allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from spanplat.llm.dialogue import Dialogue
from spanplat.models import Campaign
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.model_runs.asking import Prepared
from spanplat.services.model_runs.estimates import most_it_may_cost
from spanplat.services.model_runs.questions import count_unknown_costs, spent_and_reserved


@dataclass(frozen=True)
class RunPlan:
    """What is run, and how."""

    campaign: Campaign
    definition: CampaignDefinition
    settings: ModelSettings
    categories: Mapping[str, int]
    """Ids by key."""
    dialogue: Dialogue
    ceiling: float | None
    """US dollars."""
    limit: int | None
    """Most items asked about."""
    reply_tokens: int
    """Tokens that a reply will hardly exceed."""

    def affordable(self, session: Session, wanted: Sequence[Prepared]) -> tuple[list[tuple[Prepared, float]], bool]:
        """Return the first items that the ceiling allows, each with what it may cost, and whether money is reserved for others."""
        if self.ceiling is None or not wanted:
            return [(prepared, 0.0) for prepared in wanted], False
        spent, reserved = spent_and_reserved(session, self.campaign.id)
        costs = [
            most_it_may_cost(self.settings, prepared.input_tokens, self.reply_tokens) or 0.0 for prepared in wanted
        ]
        # Calls of which nobody knows whether, or for how many tokens, they were billed count as the dearest at hand.
        unknown = count_unknown_costs(session, self.campaign.id) * max(costs)
        free, affordable = self.ceiling - spent - reserved - unknown, []
        for prepared, cost in zip(wanted, costs, strict=True):
            if cost > free:
                break
            free -= cost
            affordable.append((prepared, cost))
        return affordable, reserved > 0
