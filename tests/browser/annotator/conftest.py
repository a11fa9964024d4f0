"""Studies to annotate, and people who do."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from spanplat.models import CampaignStatus, Dataset, Example, Output, System
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns import create_campaign, set_status
from spanplat.services.plans import plan_campaign
from spanplat.text import sha256_of
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.conftest import LiveServer


@pytest.fixture
def annotator(page: Page) -> Annotator:
    """A person with a mouse and a keyboard."""
    return Annotator(page)


@pytest.fixture
def open_study(live_server: LiveServer) -> OpenStudy:
    """Open a campaign over some texts, all in one batch, and return its start link.

    Keyword arguments replace parts of the definition; ``source`` is the source of every text, ``rival``
    what a second system wrote for each.
    """

    def make(*texts: str, source: Any = None, rival: str | None = None, **parts: Any) -> str:
        content: dict[str, Any] = {
            "slug": "study",
            "title": "Hotel highlights",
            "categories": [{"name": "Incorrect"}, {"name": "Not checkable"}, {"name": "Misleading"}],
            "guidelines": "Mark every **error**.",
            "data": {"dataset": "hotels"},
            "batches": {"regular": len(texts)},
            "annotators": {"per_output": 5},
        }
        with live_server.database.transaction() as session:
            dataset = Dataset(slug="hotels", name="hotels")
            systems = [System(slug="alder", name="Alder"), System(slug="birch", name="Birch")]
            session.add_all([dataset, *systems])
            session.flush()
            for number, text in enumerate(texts):
                example = Example(dataset_id=dataset.id, split="test", key=str(number), source=source)
                session.add(example)
                session.flush()
                for system, written in zip(systems, (text, rival), strict=True):
                    if written is not None:
                        digest = sha256_of(written)
                        output = Output(example_id=example.id, system_id=system.id, text=written, text_sha256=digest)
                        session.add(output)
            session.flush()
            definition = CampaignDefinition.model_validate(content | parts)
            campaign = create_campaign(session, plan_campaign(session, definition))
            set_status(session, campaign.slug, CampaignStatus.OPEN)
        return f"{live_server.url}/c/study/start"

    return make


@pytest.fixture
def annotator_in(new_page: Callable[..., Page]) -> AnnotatorIn:
    """Make a person with a browser of their own; arguments go to ``browser.new_context``."""

    def make(**options: Any) -> Annotator:
        return Annotator(new_page(**options))

    return make
