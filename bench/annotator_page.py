"""Cost of the annotator's page in Chromium: requests, bytes and time with a cold cache, and responsiveness with a long text.

A browser with a cold cache opens the page of a batch of ten. The result is printed beside the published figures of factgenie's page
for a batch of ten on a similar machine. Then a text of 20,000 characters with 300 spans is marked and scrolled, and a comment is
typed, once with paragraphs and once without a line feed. Last, a source of 200 KB is opened.
"""

import argparse
import json
import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.sync_api import Browser, Page, Response, sync_playwright

from spanplat.db import Database
from spanplat.models import CampaignStatus
from spanplat.schemas.dataset import ExampleRecord, OutputRecord
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.lifecycle import set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.datasets.storing import store_records
from tests.campaigns import create_campaign
from tests.simulation.databases import fresh_database
from tests.simulation.serving import Server
from tests.simulation.study import SENTENCES

FACTGENIE_REQUESTS, FACTGENIE_KILOBYTES, FACTGENIE_LOAD_MS = 36, 1570, 545
CHARACTERS, SPANS = 20_000, 300
SENTENCES_IN_PARAGRAPH = 8
SOURCE_KILOBYTES = 200
WARM_UP_VISITS = 4
LONG_TEXTS = {"paragraphs": "in paragraphs", "one-block": "in one block"}
"""Layout of the marked texts, by the slug of their campaign."""

# Watches the page from its first moment: shifts of the layout, frames that took long, pointer-up to the next frame painted, and when
# each frame began.
WATCH = """
globalThis.seen = { shift: 0, frames: [], paints: [], beats: [] };
const watch = (type, take) => new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
watch("layout-shift", (entry) => (seen.shift += entry.value));
watch("long-animation-frame", (entry) => seen.frames.push(entry.duration));
addEventListener("pointerup", () => {
  const begun = performance.now();
  requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => seen.paints.push(performance.now() - begun);
    port2.postMessage(null);
  });
}, true);
globalThis.beat = (now) => { if (seen.beats.push(now) && seen.beating) requestAnimationFrame(beat); };
"""
# Position of a character on the screen, in whole pixels, as of a mouse.
PLACE_OF = """(offset) => {
  const nodes = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
  let node = nodes.nextNode();
  for (; offset >= node.length; node = nodes.nextNode()) offset -= node.length;
  const range = new Range();
  range.setStart(node, offset);
  range.setEnd(node, offset + 1);
  const { x, y, width, height } = range.getBoundingClientRect();
  return [Math.round(x + width / 2), Math.round(y + height / 2)];
}"""
FRAME_MS = 1000 / 60


@dataclass(frozen=True)
class Loaded:
    """One visit with a cold cache."""

    requests: int
    """Requests until the first mark is possible."""
    kilobytes: float
    """Transferred kilobytes until then, with headers."""
    all_requests: int
    all_kilobytes: float
    ready_ms: float
    """Time from the request for the page until the first mark is possible."""
    load_ms: float
    """Time from the request for the page until the load event."""
    shift: float


@dataclass(frozen=True)
class Kept:
    """Responsiveness of the page with a long text."""

    paints_ms: list[float]
    """Times from pointer-up to the painted mark."""
    scrolling: "Frames"
    typing: "Frames"


@dataclass(frozen=True)
class Frames:
    """Frames during an action."""

    count: int
    dropped: int
    """Frames that a screen of 60 Hz would have shown and the browser did not."""
    long_ms: list[float]
    """Durations of frames over 50 ms."""


def main() -> None:
    """Measure, and print the figures beside factgenie's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="one visit and three marks instead of five and twenty")
    short: bool = parser.parse_args().short
    with fresh_database("sqlite") as url:
        _store(url)
        with Server(url) as server, _chromium() as browser:
            address = f"http://127.0.0.1:{server.port}"
            for _ in range(WARM_UP_VISITS):  # the server's processes load code and templates at the first visits
                _visit(browser, address, "ten")
            visits = [_visit(browser, address, "ten") for _ in range(1 if short else 5)]
            big = [_visit(browser, address, "big-source") for _ in range(1 if short else 5)]
            times = 3 if short else 20
            kept = {name: _mark(browser, address, slug, times) for slug, name in LONG_TEXTS.items()}
    _print(visits, big, kept)


def _print(visits: list[Loaded], big: list[Loaded], kept: dict[str, Kept]) -> None:
    first = visits[0]
    load = statistics.median(visit.load_ms for visit in visits)
    rows = [
        ("requests, until the first mark can be made", first.requests, "≤ 12", ""),
        ("KB, until the first mark can be made", round(first.kilobytes, 1), "≤ 60", ""),
        ("requests, all", first.all_requests, "", _ratio(FACTGENIE_REQUESTS, first.all_requests)),
        ("KB, all", round(first.all_kilobytes, 1), "", _ratio(FACTGENIE_KILOBYTES, first.all_kilobytes)),
        ("load, ms", round(load), "", _ratio(FACTGENIE_LOAD_MS, load)),
        ("first mark can be made after, ms", round(statistics.median(visit.ready_ms for visit in visits)), "", ""),
        ("layout shift", round(max(visit.shift for visit in visits), 4), "0", ""),
        (f"load with a source of {SOURCE_KILOBYTES} KB, ms", round(statistics.median(v.load_ms for v in big)), "", ""),
        (f"KB with a source of {SOURCE_KILOBYTES} KB, all", round(big[0].all_kilobytes, 1), "", ""),
        *(row for name, one in kept.items() for row in _kept_rows(name, one)),
    ]
    print(f"| {'measurement':64} | {'spanplat':>8} | {'aim':>5} | factgenie |")
    print(f"|{'-' * 66}|{'-' * 10}|{'-' * 7}|---|")
    for name, value, aim, beside in rows:
        print(f"| {name:64} | {value:>8} | {aim:>5} | {beside} |")


def _kept_rows(name: str, kept: Kept) -> list[tuple[str, object, str, str]]:
    return [
        (f"{name}: pointer-up to painted mark, median ms", round(statistics.median(kept.paints_ms), 1), "< 50", ""),
        (f"{name}: the same, 95th percentile ms", round(_percentile(kept.paints_ms, 95), 1), "< 50", ""),
        (f"{name}: the same, slowest ms", round(max(kept.paints_ms), 1), "", ""),
        *_frame_rows(name, "scrolling", kept.scrolling),
        *_frame_rows(name, "typing", kept.typing),
    ]


def _ratio(theirs: float, ours: float) -> str:
    return f"{theirs:,} ({theirs / ours:.1f} times as much)"


def _frame_rows(name: str, what: str, frames: Frames) -> list[tuple[str, object, str, str]]:
    return [
        (f"{name}: frames over 50 ms while {what}", len(frames.long_ms), "0", _slowest(frames.long_ms)),
        (f"{name}: frames dropped while {what}, of {frames.count + frames.dropped}", frames.dropped, "0", ""),
    ]


def _percentile(values: list[float], percent: int) -> float:
    """Return the nearest-rank percentile."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def _slowest(frames: list[float]) -> str:
    return f"(slowest {max(frames):.0f} ms)" if frames else ""


def _visit(browser: Browser, address: str, slug: str) -> Loaded:
    with _fresh_page(browser) as page:
        responses: list[Response] = []
        page.on("response", lambda response: responses.append(response))  # noqa: PLW0108 - Playwright marks what it is given
        page.goto(f"{address}/c/{slug}/start", wait_until="networkidle")
        timing = page.evaluate(
            """() => {
              const resources = performance.getEntriesByType("resource");
              const ready = resources.find(({ name }) => name.endsWith("/flow.js")).startTime;  // main.js has run
              const before = resources.filter(({ startTime }) => startTime < ready).map(({ name }) => name);
              const { requestStart, loadEventEnd } = performance.getEntriesByType("navigation")[0];
              return { ready: ready - requestStart, before, load: loadEventEnd - requestStart, shift: seen.shift };
            }"""
        )
        sizes = [(response.url, response.request.sizes()) for response in responses if response.status == 200]
        bytes_of = {url: size["responseHeadersSize"] + size["responseBodySize"] for url, size in sizes}
        needed = [url for url in bytes_of if url in timing["before"] or url == page.url]
        return Loaded(
            requests=len(needed),
            kilobytes=sum(bytes_of[url] for url in needed) / 1024,
            all_requests=len(bytes_of),
            all_kilobytes=sum(bytes_of.values()) / 1024,
            ready_ms=timing["ready"],
            load_ms=timing["load"],
            shift=timing["shift"],
        )


def _mark(browser: Browser, address: str, slug: str, times: int) -> Kept:
    with _fresh_page(browser) as page:
        page.goto(f"{address}/c/{slug}/start")
        item = page.request.get(f"{page.url}/items/1").json()
        page.request.put(f"{page.url}/items/1", data=_many_spans(item["text"]))
        page.reload(wait_until="networkidle")
        page.keyboard.press("1")
        page.evaluate("seen.paints.length = 0")
        for number in range(times):
            between = (number + 1) * len(item["text"]) // SPANS  # two spans that are there
            page.mouse.move(*page.evaluate(PLACE_OF, between - 34))
            page.mouse.down()
            page.mouse.move(*page.evaluate(PLACE_OF, between - 10), steps=4)
            page.mouse.up()
            page.wait_for_function("(count) => seen.paints.length >= count", arg=number + 1)
            marks = page.locator("#spans > li").count()
            if marks != SPANS + number + 1:
                raise RuntimeError(f"drag {number + 1} before character {between} made no mark: there are {marks}")
        paints: list[float] = page.evaluate("seen.paints")
        page.mouse.move(900, 300)
        scrolling = _frames_during(page, lambda: _scroll(page))
        page.get_by_label("Comment").focus()
        typing = _frames_during(page, lambda: page.keyboard.type("The text says more than its source does. " * 3))
        return Kept(paints, scrolling, typing)


def _scroll(page: Page) -> None:
    for _ in range(60):
        page.mouse.wheel(0, 240)


def _frames_during(page: Page, action: Callable[[], None]) -> Frames:
    page.wait_for_load_state("networkidle")
    page.evaluate("seen.frames.length = seen.beats.length = 0; seen.beating = true; requestAnimationFrame(beat)")
    action()
    page.evaluate("new Promise((done) => requestIdleCallback(done))")
    frames = page.evaluate("(seen.beating = false, { long: seen.frames, beats: seen.beats })")
    gaps = [after - before for before, after in pairwise(frames["beats"])]
    return Frames(len(gaps), sum(max(0, round(gap / FRAME_MS) - 1) for gap in gaps), frames["long"])


def _many_spans(text: str) -> dict[str, Any]:
    step = len(text) // SPANS
    spans = [
        {"start": start, "end": start + 25, "category": key, "text": text[start : start + 25]}
        for number in range(SPANS)
        for start, key in [(number * step, ("wrong", "unclear", "other")[number % 3])]
    ]
    return {"revision": 0, "status": "draft", "spans": spans, "answers": {}}


def _store(url: str) -> None:
    """Store the campaigns: a batch of ten, a long text with and without paragraphs, and a text with a big source."""
    database = Database(url)
    facts = {"name": "Riverside", "city": {"name": "Marnbridge", "river": "Marn"}, "rooms": _records(12)}
    short = [" ".join(SENTENCES) + f" Text {number}." for number in range(10)]
    _campaign(database, "ten", [(facts, text) for text in short])
    sentences = [SENTENCES[number % len(SENTENCES)] for number in range(CHARACTERS // 40)]
    starts = range(0, len(sentences), SENTENCES_IN_PARAGRAPH)
    paragraphs = [" ".join(sentences[start : start + SENTENCES_IN_PARAGRAPH]) for start in starts]
    for slug, feed in zip(LONG_TEXTS, ("\n", " "), strict=True):
        _campaign(database, slug, [(facts, feed.join(paragraphs)[:CHARACTERS])])
    count = SOURCE_KILOBYTES * 1024 * 10 // len(json.dumps(_records(10)))
    sections = [{"title": f"Section {part}", "entries": _records(count // 40)} for part in range(40)]
    _campaign(database, "big-source", [({"name": "Everything", "sections": sections}, short[0])])
    database.dispose()


def _records(count: int) -> list[dict[str, Any]]:
    return [
        {"number": number, "kind": "double room", "view": "towards the river", "price": 80 + number}
        for number in range(count)
    ]


def _campaign(database: Database, slug: str, items: list[tuple[Any, str]]) -> None:
    examples = [(slug, ExampleRecord(split="test", key=str(n), source=source)) for n, (source, _) in enumerate(items)]
    outputs = [
        (slug, OutputRecord(split="test", key=str(n), system="fir", text=text)) for n, (_, text) in enumerate(items)
    ]
    store_records(database, [*examples, *outputs])
    definition = CampaignDefinition.model_validate(
        {
            "slug": slug,
            "title": "Hotel highlights",
            "categories": [{"name": "Wrong"}, {"name": "Unclear"}, {"name": "Other"}],
            "guidelines": "Mark every **error**.",
            "questions": [{"type": "text", "label": "Comment", "required": False}],
            "data": {"dataset": slug},
            "batches": {"regular": 10},
            "annotators": {"per_output": 20},
        }
    )
    with database.transaction() as session:
        create_campaign(session, plan_campaign(session, definition))
        set_status(session, slug, CampaignStatus.OPEN)


@contextmanager
def _chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _fresh_page(browser: Browser) -> Iterator[Page]:
    """Open a page in a browser with an empty cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(WATCH)
    yield context.new_page()
    context.close()


if __name__ == "__main__":
    main()
