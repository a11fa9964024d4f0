"""A small study behind the annotator's routes."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from spanplat.db import Database
from spanplat.models import CampaignStatus, Dataset, Example, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.text import sha256_of
from tests.campaigns import create_campaign

PERSON = {"PROLIFIC_PID": "ann", "STUDY_ID": "study", "SESSION_ID": "session"}
TEXTS = ("The 🌧️ falls all day.", "It is dry.")


@pytest.fixture
def client(database: Database, application: Callable[[Database], Flask]) -> FlaskClient:
    """A client of the application; the test runs once on each kind of database."""
    return application(database).test_client()


@pytest.fixture
def open_study(database: Database) -> Callable[..., None]:
    """Open a campaign over two texts, both in one batch; keyword arguments replace their source and parts of the definition."""

    def make(source: Any = None, **parts: Any) -> None:
        content: dict[str, Any] = {
            "slug": "study",
            "title": "A study",
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
            "data": {"dataset": "reports"},
            "batches": {"regular": 2},
            "platform": {"service": "prolific", "codes": {"completed": "DONE123", "no_consent": "NOCON1"}},
        }
        with database.transaction() as session:
            dataset, system = Dataset(slug="reports", name="reports"), System(slug="alder", name="Alder")
            session.add_all([dataset, system])
            session.flush()
            for number, text in enumerate(TEXTS):
                facts = source or {"zeta": 1, "alpha": {"day": number}}
                example = Example(dataset_id=dataset.id, split="test", key=str(number), source=facts)
                session.add(example)
                session.flush()
                output = Output(example_id=example.id, system_id=system.id, text=text, text_sha256=sha256_of(text))
                session.add(output)
            session.flush()
            definition = CampaignDefinition.model_validate(content | parts)
            campaign = create_campaign(session, plan_campaign(session, definition))
            set_status(session, campaign.slug, CampaignStatus.OPEN)

    return make


@pytest.fixture
def arrive(client: FlaskClient) -> Callable[..., str]:
    """Come through the start link; returns the address of the annotator's page."""

    def make(**parameters: str) -> str:
        response = client.get("/c/study/start", query_string=PERSON | parameters)
        assert response.status_code == 303, response.text
        return response.location

    return make
