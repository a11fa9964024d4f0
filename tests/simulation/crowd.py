"""Hundreds of simulated workers over simulated days: they come, race, leave, vanish, return, double-click and are replaced.

Checks that every output gets exactly the annotators it was promised, that nobody meets an output twice, that groups stay balanced, and
that nobody is sent away while a place is free for them.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from sqlalchemy import select

from spanplat.db import Database
from spanplat.errors import Conflict, Gone
from spanplat.models import (
    REPLACED,
    Annotator,
    Assignment,
    AssignmentStatus,
    BatchItem,
    CampaignStatus,
    ItemOutput,
    ItemRole,
)
from spanplat.platforms.platform import Arrival
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.campaigns.extending import ExtensionRequest, extend, plan_extension, raise_annotators
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.pages import list_items
from spanplat.services.crowd.participation import Stage, Visit, enter
from spanplat.services.crowd.reviewing import replace_work
from spanplat.services.crowd.saving import save_item
from spanplat.services.crowd.submitting import submit_batch
from spanplat.services.crowd.withdrawing import withdraw
from tests.campaigns import create_campaign
from tests.simulation.study import write_texts

SLUG = "crowd"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
TOGETHER = 8
"""Workers who act at the same moment."""


@dataclass
class Report:
    """What happened, and every promise that was broken."""

    visits: int = 0
    submitted: int = 0
    vanished: int = 0
    withdrew: int = 0
    returned: int = 0
    turned_away: int = 0
    replaced: int = 0
    outputs: int = 0
    seats: int = 0
    largest_gap_between_groups: int = 0
    broken: list[str] = field(default_factory=list)


class Crowd:
    """Simulated workers on one campaign.

    Parameters
    ----------
    database
        An initialised database.
    seed
        Decides what everybody does; how threads interleave it does not decide.
    """

    def __init__(self, database: Database, seed: int) -> None:
        self.database = database
        self.random = Random(seed)
        self.now = START
        self.report = Report()
        self._lock = threading.Lock()

    def launch(self, outputs: int, per_output: float) -> None:
        """Open a campaign with two groups over a share of the outputs; more are added while it runs."""
        write_texts(self.database, outputs)
        definition = CampaignDefinition.model_validate(
            {
                "slug": SLUG,
                "title": "Crowd",
                "categories": [{"name": "Wrong"}],
                "data": {"dataset": "bench", "limit": max(1, outputs * 3 // 4)},
                "batches": {"regular": 5},
                "annotators": {"per_output": per_output, "lease_minutes": 60, "max_batches": 2},
                "groups": [{"name": "A"}, {"name": "B"}],
                "platform": {"service": "prolific"},
            }
        )
        with self.database.transaction() as session:
            create_campaign(session, plan_campaign(session, definition))
            set_status(session, SLUG, CampaignStatus.OPEN)

    def run(self, workers: int, outputs: int) -> Report:
        """Let workers come in small crowds until every seat is filled, changing the campaign twice on the way."""
        names = [f"w{number}" for number in range(workers)]
        changes: list[Callable[[], None]] = [lambda: self._extend(outputs), self._raise]
        wave = 0
        while names and not (self._is_full() and not changes):
            crowd, names = names[:TOGETHER], names[TOGETHER:]
            with ThreadPoolExecutor(TOGETHER) as executor:
                seeds = [self.random.randrange(1 << 30) for _ in crowd]
                list(executor.map(self._visit, crowd, seeds))
            self.now += timedelta(minutes=self.random.choice([1, 5, 70]))
            wave += 1
            if wave % 5 == 0:
                self._replace_one()
            if changes and (wave % 10 == 0 or self._is_full()):
                changes.pop(0)()
        self._check()
        return self.report

    def _visit(self, person: str, seed: int) -> None:
        rng = Random(seed)
        visit = self._enter(person, "1")
        if visit is None:
            return
        kind = rng.random()
        if kind < 0.2:
            self._work(visit, rng.randrange(3))
            self._count("vanished")
            if kind < 0.1:  # and comes back after the seat has lapsed
                self._count("returned")
                later = self._enter(person, "1", after=timedelta(minutes=61))
                if later is not None and later.stage == Stage.WORK:
                    self._finish(later)
        elif kind < 0.3:
            with self.database.transaction() as session:
                withdraw(session, visit.participation.token)
            self._count("withdrew")
        else:
            self._finish(visit, twice=kind < 0.4)
            if kind > 0.8:
                again = self._enter(person, "2")
                if again is not None and again.stage == Stage.WORK:
                    self._finish(again)

    def _enter(self, person: str, visit: str, after: timedelta = timedelta()) -> Visit | None:
        arrival = Arrival("prolific", person, f"{person}/{visit}", {})
        try:
            with self.database.transaction() as session:
                entered = enter(session, find_campaign(session, SLUG), arrival, self.now + after)
        except NothingLeft:
            self._count("turned_away")
            return None
        self._count("visits")
        return entered

    def _work(self, visit: Visit, most: int | None = None) -> bool:
        if visit.assignment is None:
            return False
        with self.database.reading() as session:
            states = list_items(session, visit.assignment)
        for state in states[:most]:
            content = Submission(revision=state.revision, status="complete")
            try:
                save_item(self.database, visit.participation.token, state.position, content, self.now)
            except (Gone, Conflict):
                return False
        return True

    def _finish(self, visit: Visit, *, twice: bool = False) -> None:
        if not self._work(visit):
            return
        stages = set()
        for _ in range(2 if twice else 1):
            try:
                stages.add(submit_batch(self.database, visit.participation.token, self.now).stage)
            except Conflict:
                return
        if stages == {Stage.DONE}:
            self._count("submitted")

    def _count(self, name: str) -> None:
        with self._lock:
            setattr(self.report, name, getattr(self.report, name) + 1)

    def _is_full(self) -> bool:
        with self.database.reading() as session:
            unfinished = (AssignmentStatus.OPEN, AssignmentStatus.HELD)
            return session.scalar(select(Assignment.id).where(Assignment.status.in_(unfinished)).limit(1)) is None

    def _extend(self, outputs: int) -> None:
        with self.database.reading() as session:
            plan = plan_extension(session, SLUG, ExtensionRequest(adds_outputs=True, limit=outputs))
        extend(self.database, plan)

    def _raise(self) -> None:
        with self.database.transaction() as session:
            raise_annotators(session, SLUG, 2)

    def _replace_one(self) -> None:
        with self.database.reading() as session:
            submitted = select(Annotator.pseudonym).join(Assignment).where(Assignment.status == "submitted").limit(1)
            pseudonym = session.scalar(submitted)
        if pseudonym is not None:
            with self.database.transaction() as session:
                self.report.replaced += replace_work(session, SLUG, pseudonym, "simulated")

    def _check(self) -> None:
        """Compare what is there with what was promised."""
        with self.database.reading() as session:
            rows = session.execute(
                select(Assignment.status, Assignment.annotator_id, Assignment.group, ItemOutput.output_id)
                .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
                .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
                .where(BatchItem.role == ItemRole.REGULAR)
            ).all()
            held = session.execute(
                select(Assignment.group, Assignment.annotator_id).where(Assignment.status.not_in((*REPLACED, "open")))
            ).all()
        per_output: dict[int, Counter[str | None]] = defaultdict(Counter)
        met: Counter[tuple[int, int]] = Counter()
        for status, annotator, group, output in rows:
            if status not in REPLACED:
                per_output[output][group] += 1
            if annotator is not None:
                met[annotator, output] += 1
        self.report.outputs = len(per_output)
        self.report.seats = len(held)
        for output, groups in per_output.items():
            if set(groups.values()) != {2} or len(groups) != 2:
                self.report.broken.append(f"output {output} has {dict(groups)} where two of each group were promised")
        self.report.broken += [
            f"annotator {annotator} met output {output} {times} times"
            for (annotator, output), times in met.items()
            if times > 1
        ]
        by_group: dict[int, set[str | None]] = defaultdict(set)
        for group, annotator in held:
            if annotator is not None:
                by_group[annotator].add(group)
        self.report.broken += [
            f"annotator {annotator} is in {groups}" for annotator, groups in by_group.items() if len(groups) > 1
        ]
        sizes = Counter(group for group, _ in held)
        self.report.largest_gap_between_groups = max(sizes.values(), default=0) - min(sizes.values(), default=0)
        if not self._is_full():
            self.report.broken.append(
                "seats are left although everybody came: more workers were needed, or some were stranded"
            )


def simulate(database: Database, *, workers: int, outputs: int, seed: int) -> Report:
    """Run one simulation on an initialised, empty database."""
    crowd = Crowd(database, seed)
    crowd.launch(outputs, 1.4)
    return crowd.run(workers, outputs)
