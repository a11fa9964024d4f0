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
    later = (
        *(
            f"{module}.js"
            for module in (
                "history",
                "flow",
                "questions",
                "source",
                "stopwatch",
                "caret",
                "divider",
                "keyboard",
                "panels",
            )
        ),
        *(f"{module}.js" for module in ("marks", "handles", "inspector", "pane", "find", "rendered")),
        "favicon.svg",
        "/items",
    )
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


SOURCE = {"name": "Riverside", "rooms": [{"kind": "suite", "beds": 2}, {"kind": "single", "beds": 1}]}


@pytest.mark.parametrize("source", [SOURCE, None], ids=["with a source", "without"])
def test_nothing_moves_after_the_first_paint(annotator: Annotator, open_study: OpenStudy, source: object) -> None:
    page = annotator.page
    page.add_init_script(
        """globalThis.shifts = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) globalThis.shifts += entry.value;
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    annotator.begin(open_study("Enjoy views of the Hudson River. " * 30, source=source))
    annotator.mark("views of the Hudson")
    annotator.saved()
    page.reload()
    expect(annotator.rows).to_have_count(1)
    expect(page.locator("#back")).to_be_disabled()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("globalThis.shifts") < 0.001
