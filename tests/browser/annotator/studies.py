"""A study to annotate, in any database."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import Dataset, Example, Output, SourceText, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.launching import open_campaign, store_campaign
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.storing import source_texts
from spanplat.text import clean_text, sha256_of

CONTENT: dict[str, Any] = {
    "slug": "study",
    "title": "Hotel highlights",
    "categories": [{"name": "Incorrect"}, {"name": "Not checkable"}, {"name": "Misleading"}],
    "guidelines": "Mark every **error**.",
    "data": {"dataset": "hotels"},
    "annotators": {"per_output": 5},
}


def store_study(database: Database, *texts: str, source: Any = None, rival: str | None = None, **parts: Any) -> None:
    """Open a campaign over some texts, all in one batch: ``study``, or the one that ``slug`` names, over texts of its own.

    Keyword arguments replace parts of the definition; ``source`` is the source of every text, ``rival``
    what a second system wrote for each.
    """
    slug = parts.get("slug", CONTENT["slug"])
    texts_of = CONTENT["data"]["dataset"] if slug == CONTENT["slug"] else slug
    with database.transaction() as session:
        dataset = Dataset(slug=texts_of, name=texts_of)
        systems = [_system(session, name) for name in ("Alder", "Birch")]
        session.add_all([dataset, *systems])
        session.flush()
        for number, text in enumerate(texts):
            example = Example(dataset_id=dataset.id, split="test", key=str(number), source=source)
            session.add(example)
            session.flush()
            for field, received in source_texts(source):
                plain = clean_text(received)
                digest = sha256_of(plain)
                session.add(SourceText(example_id=example.id, field=field, text=plain, text_sha256=digest))
            for system, written in zip(systems, (text, rival), strict=True):
                if written is not None:
                    plain = clean_text(written)
                    digest = sha256_of(plain)
                    session.add(Output(example_id=example.id, system_id=system.id, text=plain, text_sha256=digest))
        session.flush()
        own = {"batches": {"regular": len(texts)}, "data": {"dataset": texts_of}}
    launch(database, CONTENT | own | parts)


def _system(session: Session, name: str) -> System:
    known = session.scalars(select(System).where(System.slug == name.lower())).one_or_none()
    return known or System(slug=name.lower(), name=name)


def launch(database: Database, content: dict[str, Any]) -> None:
    """Create and open a campaign."""
    with database.reading() as session:
        plan = plan_campaign(session, CampaignDefinition.model_validate(content))
    open_campaign(database, store_campaign(database, plan).slug)
