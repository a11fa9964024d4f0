"""Fixtures: studies to annotate and people at the page."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy
from tests.browser.annotator.studies import store_study
from tests.browser.conftest import LiveServer


@pytest.fixture
def annotator(page: Page) -> Annotator:
    """A person with a mouse and a keyboard."""
    return Annotator(page)


@pytest.fixture
def open_study(live_server: LiveServer) -> OpenStudy:
    """Open a campaign over some texts and return its start link; see `store_study`."""

    def make(*texts: str, source: Any = None, rival: str | None = None, **parts: Any) -> str:
        store_study(live_server.database, *texts, source=source, rival=rival, **parts)
        return f"{live_server.url}/c/study/start"

    return make


@pytest.fixture
def annotator_in(new_page: Callable[..., Page]) -> AnnotatorIn:
    """Make a person with a browser of their own; arguments go to ``browser.new_context``."""

    def make(**options: Any) -> Annotator:
        return Annotator(new_page(**options))

    return make
