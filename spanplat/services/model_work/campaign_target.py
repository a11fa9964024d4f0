"""A model campaign as the target of a run. Items are claimed one by one, so that several runs can share the campaign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.llm.dialogue import Dialogue
from spanplat.models import Campaign, CampaignStatus
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.services.datasets import chunked
from spanplat.services.model_work import claims
from spanplat.services.model_work.budget import Budget
from spanplat.services.model_work.calls import Outcome, PendingRequest
from spanplat.services.model_work.claims import PendingItem, SeatItem
from spanplat.services.model_work.recording import ItemResult, Recorder, RunCounts, read_outcome
from spanplat.services.model_work.runner import OpenWork
from spanplat.services.model_work.seats import submit_full_seats
from spanplat.services.model_work.workers import worker_name

KNOWN_AT_ONCE = 100
"""Number of items that are loaded, and stored in one transaction, before a run asks anything."""

KEPT = "stopped, what was answered is kept: "
"""Text before the reason in the message of a run that the provider ended."""


@dataclass(frozen=True)
class RunPlan:
    """Campaign and settings of a run."""

    campaign: Campaign
    definition: CampaignDefinition
    settings: ModelSettings
    categories: Mapping[str, int]
    """Ids of the categories by key."""
    dialogue: Dialogue
    budget: Budget
    limit: int | None
    """Most items to ask about."""
    reply_tokens: int
    """Likely upper limit of a reply's tokens."""

    def request(self, pending: PendingItem) -> PendingRequest[SeatItem]:
        """Return the request for an item."""
        return PendingRequest(pending.key, self.dialogue.request(pending.item, pending.repeat), self.reply_tokens)

    def needing_request(self, items: Sequence[PendingItem]) -> list[PendingItem]:
        """Return the items that need a request. The answer to the others is known without one."""
        return [pending for pending in items if self.dialogue.answer_without_asking(pending.item) is None]


class CampaignTarget:
    """The items of a model campaign in one run.

    Parameters
    ----------
    database
        Database with the campaign.
    plan
        Campaign and settings of the run.
    """

    def __init__(self, database: Database, plan: RunPlan) -> None:
        self.plan = plan
        self.settings = plan.settings
        self.budget = plan.budget
        self.stop_message = f"the run of {plan.campaign.slug} {KEPT}"
        self.worker = worker_name()
        self.counts = RunCounts()
        self.since = datetime.now(UTC)
        """Start of the run. Items that were given up before it are asked about again."""
        self._database = database
        self._campaign_id = plan.campaign.id
        self._recorder = Recorder(self._campaign_id, plan.settings, plan.categories, self.worker, self.counts)

    def begin(self) -> None:
        """Store the annotations of all items whose answer is known without a call.

        These are the items for which the members of the ensemble report no error to the consolidator. Other runs keep their claims.

        Raises
        ------
        InvalidInput
            If no member of the ensemble has judged an item.
        """
        if not self.settings.consolidates:
            return
        for keys in chunked(self.find_open().free, KNOWN_AT_ONCE):
            known = {
                pending.key: ItemResult(pending.key, reading=reading)
                for pending in self._load(keys)
                if (reading := self.plan.dialogue.answer_without_asking(pending.item)) is not None
            }
            if not known:
                continue
            with self._database.transaction() as session:
                if not self.lock(session):
                    return
                own = self.claim(session, [(key, 0.0) for key in known])
                self.store(session, [known[key] for key in known if key in own])

    def find_open(self) -> OpenWork[SeatItem]:
        """Return the items without an answer."""
        # Two steps, so that the query over all items does not run inside a transaction that writes.
        with self._database.transaction() as session:
            claims.release_dead(session, self._campaign_id)
        with self._database.reading() as session:
            return claims.find_open_items(session, self._campaign_id, self.since)

    def requests(self, keys: Sequence[SeatItem]) -> list[PendingRequest[SeatItem]]:
        """Return the requests for items."""
        return [self.plan.request(pending) for pending in self._load(keys)]

    def lock(self, session: Session) -> bool:
        """Lock the campaign. Return whether it is open."""
        return claims.lock_campaign(session, self._campaign_id) == CampaignStatus.OPEN

    def claim(self, session: Session, wanted: Sequence[tuple[SeatItem, float]]) -> set[SeatItem]:
        """Claim items. Return those that no other run has."""
        return claims.claim(session, self._campaign_id, self.worker, wanted, since=self.since)

    def reserve(self, session: Session, key: SeatItem, cost: float) -> None:
        """Reserve more US dollars for an item."""
        claims.reserve(session, self.worker, key, cost)

    def renew(self, session: Session) -> None:
        """Prolong the leases of all claims."""
        claims.renew(session, self.worker)

    def read(self, outcome: Outcome[SeatItem]) -> ItemResult:
        """Read a reply by the rules of the campaign's definition."""
        return read_outcome(self.plan.dialogue, outcome)

    def store(self, session: Session, results: Sequence[ItemResult]) -> None:
        """Store calls and annotations."""
        self._recorder.store(session, results)

    def release(self) -> None:
        """Give claims back, and submit the seats in which every item is annotated."""
        with self._database.transaction() as session:
            claims.release(session, self.worker)
        submit_full_seats(self._database, self.plan.campaign)

    def _load(self, keys: Sequence[SeatItem]) -> list[PendingItem]:
        with self._database.reading() as session:
            return claims.load_pending(session, self.plan.definition, keys)
