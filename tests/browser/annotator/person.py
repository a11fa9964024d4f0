"""A person at the annotator's page, who clicks, drags, types and reads."""

from typing import Any, Protocol

from playwright.sync_api import Locator, Page, expect

# Where the mouse must go to drag exactly over a quote: just inside the outer edges of its first and last character.
EDGES = """([quote, occurrence, within]) => {
  const element = document.getElementById(within);
  const pane = document.getElementById("marking");
  const scroller = getComputedStyle(pane).overflowY === "visible" ? globalThis : pane;
  let start = -1;
  for (let i = 0; i <= occurrence; i++) start = element.textContent.indexOf(quote, start + 1);
  if (start < 0) throw new Error(`not in the text: ${quote}`);
  const graphemes = [...new Intl.Segmenter().segment(quote)].map(({ segment }) => segment);
  const place = (offset) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let before = 0; walker.nextNode(); before += walker.currentNode.length) {
      if (offset < before + walker.currentNode.length) return [walker.currentNode, offset - before];
    }
  };
  const box = (from, grapheme) => {
    const range = document.createRange();
    range.setStart(...place(from));
    const [node, offset] = place(from + grapheme.length - 1);
    range.setEnd(node, offset + 1);
    const top = range.getBoundingClientRect().top;
    if (top < 60 || top > innerHeight - 160) scroller.scrollBy(0, top - innerHeight / 2);
    return [range.getClientRects()[0], /\\p{Script=Arabic}|\\p{Script=Hebrew}/u.test(grapheme)];
  };
  const last = graphemes.at(-1);
  const [first, firstRtl] = box(start, graphemes[0]);
  const [end, lastRtl] = box(start + quote.length - last.length, last);
  const inset = 1;
  return [
    [firstRtl ? first.right - inset : first.left + inset, (first.top + first.bottom) / 2],
    [lastRtl ? end.left + inset : end.right - inset, (end.top + end.bottom) / 2],
  ];
}"""


class Annotator:
    """One person at the annotator's page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def begin(self, link: str) -> "Annotator":
        """Come through the start link and pass the instructions."""
        self.page.goto(link)
        self.page.get_by_role("button", name="Start").click()
        self.ready()
        return self

    def ready(self) -> None:
        """Wait until everything on the page can be used; what is needed for the first mark alone comes before the rest."""
        self.page.locator("body[data-ready]").wait_for()

    def drawn(self) -> None:
        """Wait until what was done so far has been drawn."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def hear_nothing(self) -> None:
        """Keep the page from asking now and then what happened elsewhere: it would turn to that before anything is done on it."""
        self.page.route("**/items", lambda route: route.abort())

    @property
    def base(self) -> str:
        """Address of the page, without what stands behind it."""
        return self.page.url.split("#")[0]

    @property
    def text(self) -> Locator:
        return self.page.locator("#text")

    @property
    def rows(self) -> Locator:
        return self.page.locator("#spans > li")

    def edges(self, quote: str, occurrence: int = 0, within: str = "text") -> list[list[float]]:
        """Return where the mouse must go to drag exactly over a quote; scrolls there first."""
        self.ready()
        places: list[list[float]] = self.page.evaluate(EDGES, [quote, occurrence, within])
        return places

    def drag(
        self, quote: str, *, occurrence: int = 0, backwards: bool = False, shift: bool = False, within: str = "text"
    ) -> None:
        """Drag over exactly these characters of a text, named by its id."""
        start, end = self.edges(quote, occurrence, within)
        if backwards:
            start, end = end, start
        mouse, keyboard = self.page.mouse, self.page.keyboard
        if shift:
            keyboard.down("Shift")
        mouse.move(*start)
        mouse.down()
        mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        mouse.move(*end)
        mouse.up()
        if shift:
            keyboard.up("Shift")

    def click(self, quote: str, *, within: str = "text") -> None:
        """Click in the middle of a quote that stands on one line."""
        (left, y), (right, _) = self.edges(quote, within=within)
        self.page.mouse.click((left + right) / 2, y)

    def handle(self, edge: str) -> list[float]:
        """Return where the handle of an end of the selected mark can be held."""
        expect(self.page.locator(f".handle.{edge}")).to_be_visible()
        self.drawn()  # handles take their place when the page is drawn
        box = self.page.locator(f".handle.{edge}").bounding_box()
        assert box is not None
        hangs_left = "leftmost" in (self.page.locator(f".handle.{edge}").get_attribute("class") or "").split()
        return [box["x"] + (-5 if hangs_left else box["width"] + 5), box["y"] + box["height"] + 6]

    def mark(self, quote: str, key: str = "1", **how: Any) -> None:
        """Drag, then choose the category with this key."""
        self.ready()
        before = self.rows.count()
        self.drag(quote, **how)
        expect(self.page.locator("#chooser")).to_be_visible()
        self.page.keyboard.press(key)
        expect(self.rows).to_have_count(before + 1)

    def saved(self) -> None:
        """Wait until everything is acknowledged."""
        expect(self.page.locator("#save-state")).to_have_attribute("data-state", "saved")

    def stored(self, position: int = 1) -> list[tuple[str, str]]:
        """Return quote and category of what the server has, after checking each quote against its offsets."""
        self.saved()
        return [(span["text"], span["category"]) for span in self.stored_spans(position)]

    def stored_spans(self, position: int = 1) -> list[dict[str, Any]]:
        """Return the spans that the server has, after checking each quote against its offsets."""
        self.saved()
        item = self.page.request.get(f"{self.base}/items/{position}").json()
        for span in item["spans"]:
            text = (
                item["source_text"]["text"]
                if span["side"] == "source"
                else item["item"]["outputs"][span["output"]]["text"]
            )
            assert text[span["start"] : span["end"]] == span["text"]
        spans: list[dict[str, Any]] = item["spans"]
        return spans

    def shown(self) -> list[str]:
        """Return the quotes in the list of marks."""
        return [quote.strip() for quote in self.page.locator("#spans q").all_text_contents()]


class OpenStudy(Protocol):
    """Open a campaign over some texts, all in one batch, and return its start link."""

    def __call__(self, *texts: str, source: Any = None, rival: str | None = None, **parts: Any) -> str: ...


class AnnotatorIn(Protocol):
    """Make a person with a browser of their own; arguments go to ``browser.new_context``."""

    def __call__(self, **options: Any) -> Annotator: ...


def swipe(page: Page, start: list[float], end: list[float]) -> None:
    """Move a finger from one place to another."""
    finger = page.context.new_cdp_session(page)
    steps = [[a + (b - a) * share for a, b in zip(start, end, strict=True)] for share in (0, 0.5, 1)]
    for kind, points in zip(("touchStart", "touchMove", "touchMove", "touchEnd"), [*steps, None], strict=True):
        places = [{"x": points[0], "y": points[1]}] if points else []
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
