"""What the page costs before the first mark can be made."""

import pytest
from playwright.sync_api import Response, expect

from tests.browser.annotator.person import Annotator, OpenStudy

pytestmark = pytest.mark.browser

MOST_REQUESTS = 12
MOST_BYTES = 60 * 1024


def test_the_first_mark_costs_few_requests_and_little_transfer(annotator: Annotator, open_study: OpenStudy) -> None:
    link = open_study("Enjoy views of the Hudson River. " * 30, source={"name": "Riverside", "rooms": list(range(50))})
    needed: list[Response] = []
    later = ("flow.js", "questions.js", "source.js", "stopwatch.js", "caret.js", "favicon.svg")
    annotator.page.on(
        "response", lambda response: needed.append(response) if not response.url.endswith((*later, "/start")) else None
    )
    annotator.begin(link)
    expect(annotator.page.locator("#source")).to_contain_text("Riverside")
    transferred = sum(
        sizes["responseHeadersSize"] + sizes["responseBodySize"]
        for sizes in (response.request.sizes() for response in needed)
    )
    assert len(needed) <= MOST_REQUESTS, [response.url for response in needed]
    assert transferred <= MOST_BYTES


def test_nothing_moves_after_the_first_paint(annotator: Annotator, open_study: OpenStudy) -> None:
    source = {"name": "Riverside", "rooms": [{"kind": "suite", "beds": 2}, {"kind": "single", "beds": 1}]}
    page = annotator.page
    page.add_init_script(
        """globalThis.shifts = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifts += entry.value;
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    annotator.begin(open_study("Enjoy views of the Hudson River. " * 30, source=source))
    expect(page.get_by_role("table")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("table")).to_be_visible()
    assert page.evaluate("globalThis.shifts") < 0.01
