"""Requests and bytes of the page before the first mark."""

import pytest
from playwright.sync_api import Page, Response, Route, expect

from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

MOST_REQUESTS = 12
MOST_BYTES = 60 * 1024
LATE = (
    *("flow", "items", "questions", "source", "stopwatch", "caret", "divider", "keyboard", "panels"),
    *("marks", "handles", "inspector", "pane", "find", "rendered"),
)
"""Modules that are loaded once the first mark can be made."""


def test_the_first_mark_costs_few_requests_and_little_transfer(annotator: Annotator, open_study: OpenStudy) -> None:
    link = open_study("Enjoy views of the Hudson River. " * 30, source={"name": "Riverside", "rooms": list(range(50))})
    needed: list[Response] = []
    later = ("/history.js", *(f"/{module}.js" for module in LATE), "favicon.svg", "/items")
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
TEXT = "Enjoy views of the Hudson River. " * 30
QUESTIONS = [
    {"type": "no_errors", "label": "I did not find any errors"},
    {"type": "likert", "label": "Overall", "points": 5, "required": False},
    {"type": "text", "label": "Comment", "required": False},
]
NOTE_SHIFTS = """
  globalThis.shifts = [];
  const name = (node) => node && (node.id || node.className || node.nodeName);
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      shifts.push([value, sources.map(({ node, previousRect: { x, y }, currentRect: now }) => [name(node), x, y, now.x, now.y])]);
  }).observe({ type: "layout-shift", buffered: true });
"""
FIRST_PAINT = """new Promise((done) => {
  new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").length && done())
    .observe({ type: "paint", buffered: true });
})"""


class Gate:
    """Holds back the scripts whose addresses end so, until it is opened: the slowest machine there is."""

    def __init__(self, page: Page, *names: str) -> None:
        self._held: list[Route] | None = []
        page.route(lambda address: address.endswith(names), self._arrive)

    def open(self) -> None:
        held, self._held = self._held, None
        for route in held or []:
            route.continue_()

    def _arrive(self, route: Route) -> None:
        if self._held is None:
            route.continue_()
        else:
            self._held.append(route)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("source", [SOURCE, None], ids=["with a source", "without"])
@pytest.mark.parametrize("worked_on", [True, False], ids=["worked on", "untouched"])
def test_nothing_moves_after_the_first_paint_however_late_scripts_come(
    annotator_in: AnnotatorIn, open_study: OpenStudy, source: object, width: int, worked_on: bool
) -> None:
    here = annotator_in(viewport={"width": width, "height": 800})
    here.begin(open_study(TEXT, source=source, questions=QUESTIONS, spans={"overlap": "allow"}))
    if worked_on:
        for quote, key in (("views of the Hudson", "1"), ("of the Hudson River", "2"), ("the Hudson", "3")):
            here.mark(quote, key)
        here.page.get_by_label("4").check()
        if source and width > 800:
            here.page.locator("#divider").press("ArrowRight")
        here.saved()
    again = Annotator(here.page.context.new_page())
    page = again.page
    page.add_init_script(NOTE_SHIFTS)
    first, rest = Gate(page, "/main.js"), Gate(page, *(f"/{name}.js" for name in LATE))
    page.goto(here.base, wait_until="commit")
    page.evaluate(FIRST_PAINT)
    first.open()
    expect(page.locator("#text .block").first).to_be_attached()
    again.drawn()
    rest.open()
    again.ready()
    expect(again.rows).to_have_count(3 if worked_on else 0)
    expect(page.locator("#questions" if worked_on else "#opening")).to_be_visible()
    page.wait_for_load_state("networkidle")
    again.drawn()
    shifts = page.evaluate("shifts")
    assert sum(value for value, _ in shifts) < 0.001, shifts
