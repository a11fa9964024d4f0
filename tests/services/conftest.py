"""A small dataset and campaigns on it."""

from collections.abc import Callable
from typing import Any

import pytest

from spanplat.db import Database
from spanplat.models import Campaign, CampaignStatus, Dataset, Example, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import create_campaign, set_status
from spanplat.services.plans import plan_campaign
from spanplat.text import sha256_of

CategorySpec = dict[str, Any]


@pytest.fixture
def define() -> Callable[..., CampaignDefinition]:
    """Make a definition over the dataset ``reports``; keyword arguments replace its parts."""

    def make(**parts: Any) -> CampaignDefinition:
        content: dict[str, Any] = {
            "slug": "study",
            "title": "A study",
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
            "data": {"dataset": "reports"},
            "batches": {"regular": 3},
        }
        return CampaignDefinition.model_validate(content | parts)

    return make


@pytest.fixture
def reports(database: Database) -> None:
    """Store a dataset of six examples with outputs of two systems; some texts hold emoji and Arabic."""
    texts = [
        "A short report.",
        "It rains 🌧️ all day.",
        "درجة الحرارة 21 مئوية.",
        "e\u0301tude № 5",
        "Line one\nline two.",
        "12 °C",
    ]
    with database.transaction() as session:
        dataset = Dataset(slug="reports", name="reports")
        systems = [System(slug=slug, name=slug.title()) for slug in ("alder", "birch")]
        session.add_all([dataset, *systems])
        session.flush()
        for number, text in enumerate(texts):
            example = Example(dataset_id=dataset.id, split="test", key=str(number), source={"number": number})
            session.add(example)
            session.flush()
            for system in systems:
                full = f"{system.name}: {text}"
                session.add(Output(example_id=example.id, system_id=system.id, text=full, text_sha256=sha256_of(full)))


@pytest.fixture
def launch(database: Database, reports: None, define: Callable[..., CampaignDefinition]) -> Callable[..., Campaign]:
    """Create and open a campaign over the dataset ``reports``; keyword arguments replace parts of its definition."""
    del reports

    def make(**parts: Any) -> Campaign:
        with database.transaction() as session:
            campaign = create_campaign(session, plan_campaign(session, define(**parts)))
            return set_status(session, campaign.slug, CampaignStatus.OPEN)

    return make
