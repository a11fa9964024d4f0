"""Longest write transaction of creating, opening and extending a large campaign, which blocks annotators' saves.

The script creates a campaign over 20,000 outputs in batches of ten for three people each, opens one that copies suggestions for 10,000
outputs, and extends a small one by 20,000 outputs.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, update

from bench.import_d2t import LONGEST_TRANSACTION_MS, TimedDatabase
from bench.processors import describe_processors
from spanplat.models import Annotation, Annotator, Assignment, BatchItem, Category, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.extending import ExtensionRequest, extend, plan_extension
from spanplat.services.campaigns.launching import open_campaign, store_campaign
from spanplat.services.campaigns.planning import plan_campaign
from tests.simulation.databases import KINDS, fresh_database, kinds_of
from tests.simulation.study import write_texts

OUTPUTS, SHORT_OUTPUTS = 20_000, 600
FEW = 20
"""Outputs of the campaign that is extended."""


def measure(kind: str, outputs: int) -> bool:
    """Measure all three on a new database and print times and lock times; return whether all write transactions were short."""
    with fresh_database(kind) as url:
        database = TimedDatabase(url)
        write_texts(database, outputs + FEW)
        database.refresh_statistics()
        _create(database, "theirs", outputs // 2)
        _fill(database, "theirs")
        _create(database, "edited", outputs // 2, spans={"suggestions_from": "theirs"})
        _create(database, "small", FEW)
        work: dict[str, Callable[[], object]] = {
            f"creating, {outputs:,} outputs": lambda: _create(database, "large", outputs),
            f"opening, {outputs // 2:,} outputs with suggestions": lambda: open_campaign(database, "edited"),
            f"extending by {outputs:,} outputs": lambda: _extend(database, "small", outputs + FEW),
        }
        print(f"| {kind}: what | seconds | write transactions | longest | without its commit |\n|---|---|---|---|---|")
        longest = 0.0
        for what, do in work.items():
            database.held.clear()
            database.worked.clear()
            began = time.perf_counter()
            do()
            seconds, held = time.perf_counter() - began, max(database.held) * 1000
            print(
                f"| {what} | {seconds:.1f} | {len(database.held)} | {held:.0f} ms | {max(database.worked) * 1000:.0f} ms |"
            )
            longest = max(longest, held)
        print(f"load average {os.getloadavg()[0]:.1f}")
        database.dispose()
    return longest <= LONGEST_TRANSACTION_MS


def _create(database: TimedDatabase, slug: str, limit: int, **parts: Any) -> None:
    definition = CampaignDefinition.model_validate(
        {
            "slug": slug,
            "title": slug.title(),
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
            "data": {"dataset": "bench", "limit": limit},
            "batches": {"regular": 10},
            "annotators": {"per_output": 3},
        }
        | parts
    )
    with database.reading() as session:
        plan = plan_campaign(session, definition)
    store_campaign(database, plan)


def _extend(database: TimedDatabase, slug: str, limit: int) -> None:
    with database.reading() as session:
        plan = plan_extension(session, slug, ExtensionRequest(adds_outputs=True, limit=limit))
    extend(database, plan)


def _fill(database: TimedDatabase, slug: str) -> None:
    """Mark the first word of every output of a campaign in the name of one annotator."""
    now = datetime.now(UTC)
    with database.transaction() as session:
        annotator = Annotator(kind="human", source="bench", external_id="one", pseudonym="one")
        session.add(annotator)
        session.flush()
        category = session.scalars(select(Category).where(Category.campaign.has(slug=slug))).first()
        assert category is not None
        seats = select(Assignment.id).where(Assignment.campaign_id == category.campaign_id, Assignment.slot == 0)
        submitted = {"status": "submitted", "annotator_id": annotator.id}
        session.execute(update(Assignment).where(Assignment.id.in_(seats)).values(submitted))
        work = (
            select(Assignment.id, BatchItem.item_id)
            .join(BatchItem, BatchItem.batch_id == Assignment.batch_id)
            .where(Assignment.id.in_(seats))
        )
        rows = [
            {"assignment_id": seat, "item_id": item, "status": "complete", "revision": 1, "completed_at": now}
            for seat, item in session.execute(work)
        ]
        session.execute(insert(Annotation), rows)
        span = {"category_id": category.id, "position": 0, "start_offset": 0, "end_offset": 4, "text": "Case"}
        marked = session.scalars(select(Annotation.id)).all()
        session.execute(insert(Span), [span | {"annotation_id": annotation} for annotation in marked])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_OUTPUTS} outputs in place of {OUTPUTS:,}")
    options = parser.parse_args()
    print(describe_processors())
    outputs = SHORT_OUTPUTS if options.short else OUTPUTS
    are_short = [measure(kind, outputs) for kind in kinds_of(options.database)]
    return 0 if all(are_short) else 1


if __name__ == "__main__":
    sys.exit(main())
