"""A model campaign, run from its page: the price, the progress, a pause, and the result."""

import threading
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from spanplat.models import Job, JobState
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.performing import Performer
from tests.browser.conftest import LiveServer
from tests.services.model_work.conftest import KEY, create_study, store_outputs
from tests.standin.script import Answer, Call, Hold, Reply, Trouble
from tests.standin.server import StandIn

pytestmark = pytest.mark.browser

OUTPUTS = 60
"""More than a run asks about before it notices, a quarter of a second later, that it was paused."""
BEFORE_PAUSE = 4
SAYS_NOTHING = Reply(tokens=(100, 20, 0))


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with StandIn(key=KEY) as server:
        yield server


def perform(server: LiveServer) -> threading.Thread:
    """Have a worker perform the run that the page asked for."""
    with server.database.reading() as session:
        job = session.scalars(select(Job).where(Job.state == JobState.QUEUED)).one()
    thread = threading.Thread(target=Performer(server.database, HANDLERS, "tester").perform, args=(job.id,))
    thread.start()
    return thread


def answer(call: Call) -> Answer:
    return Trouble(400, "the text is too odd") if "Day 11:" in call.prompt else SAYS_NOTHING


def test_a_run_is_started_knowing_its_price_paused_resumed_and_reported(
    live_server: LiveServer, standin: StandIn, page: Page, signed_in: Callable[[Page], Page]
) -> None:
    standin.script = lambda call: answer(call) if call.number <= BEFORE_PAUSE else Hold(SAYS_NOTHING)
    store_outputs(live_server.database, OUTPUTS)
    create_study(live_server.database, f"{standin.url}/v1", concurrency=1, max_cost=5, timeout=600)
    signed_in(page).goto("/admin/campaigns/study")
    outlook = page.get_by_role("region", name="What a run would take")
    expect(outlook).to_contain_text(f"{OUTPUTS} items to ask about: ≈ $")
    expect(outlook).to_contain_text("stop before they cost more than $5.00")
    page.get_by_role("button", name="Run the model").click()
    expect(page.get_by_role("status")).to_contain_text("The run waits for the worker")
    expect(outlook).to_have_count(0)
    worker = perform(live_server)
    expect(page.get_by_role("status")).to_contain_text(f"{BEFORE_PAUSE} of {OUTPUTS} items")
    page.get_by_role("button", name="Pause the run").click()
    expect(page.get_by_text("The run is paused")).to_be_visible()
    standin.script = answer  # for what the run had taken up and may ask yet
    standin.release()
    worker.join(180)
    assert BEFORE_PAUSE < len(standin.ledger.calls) < OUTPUTS
    page.reload()
    expect(page.get_by_role("region", name="What the rest would take")).to_contain_text("items to ask about")
    page.get_by_role("button", name="Resume the run").click()
    expect(page.get_by_role("status")).to_contain_text("The run waits for the worker")
    perform(live_server).join(180)
    expect(page.get_by_role("button", name="Pause the run")).to_have_count(0)
    expect(page.get_by_role("cell", name="status 400")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="the text is too odd")).to_contain_text("1")
    report = page.locator("#progress")
    expect(report).to_contain_text("for 1,000 outputs")
    expect(report).to_contain_text("Seconds per output")
    expect(report).to_contain_text("5,900 in, 1,180 out")
    assert max(standin.ledger.answered.values()) == 1, "nothing that was answered is asked again"
