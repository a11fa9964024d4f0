"""Make the images of the README from a demo of its own: ``make screenshots``."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect, sync_playwright

from spanplat import paths

IMAGES = Path(__file__).parent / "images"
WINDOW = {"width": 1280, "height": 800}
SPANPLAT = [sys.executable, "-m", "spanplat"]

# Where the mouse must go to drag from one character to another (UTF-16 offsets) of the text.
PLACES = """([start, end]) => {
  const box = (offset) => {
    const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
    let before = 0;
    while (walker.nextNode() && before + walker.currentNode.length <= offset) before += walker.currentNode.length;
    const range = document.createRange();
    range.setStart(walker.currentNode, offset - before);
    range.setEnd(walker.currentNode, offset - before + 1);
    return range.getBoundingClientRect();
  };
  const first = box(start), last = box(end - 1);
  return [[first.left + 1, first.top + first.height / 2], [last.right - 1, last.top + last.height / 2]];
}"""


def main() -> None:
    """Run a demo in an empty folder and take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SPANPLAT_HOME": folder, "PYTHONUNBUFFERED": "1"}
        loaded = subprocess.run(  # noqa: S603 - our own command
            [*SPANPLAT, "demo", "--no-serve", "--json"], env=environment, stdout=subprocess.PIPE, check=True
        )
        demo = json.loads(loaded.stdout)
        with serving(environment) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
            )
            annotate(browser.new_page(viewport=WINDOW), address)  # type: ignore[arg-type]
            look(browser.new_page(viewport=WINDOW), address, demo["user"])  # type: ignore[arg-type]
            browser.close()


@contextlib.contextmanager
def serving(environment: dict[str, str]) -> Iterator[str]:
    """Serve on a free port and give the address."""
    command = [*SPANPLAT, "serve", "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            yield next(found[0] for line in process.stdout or () if (found := re.search(r"http://\S+", line)))
        finally:
            process.terminate()


def annotate(page: Page, address: str) -> None:
    """Take a seat in the demo, mark what sample A marked, and photograph the page."""
    page.goto(f"{address}/c/demo-people/start")
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Start").click()
    samples = sample_spans()
    position, text = next(item for item in texts(page) if len(samples.get(item[1], [])) >= 2)
    page.locator(f"#strip [data-position='{position}']").click()
    expect(page.locator("#text")).to_have_text(text, use_inner_text=False)
    for span in samples[text][:3]:
        start, end = page.evaluate(PLACES, [span["start"], span["end"]])
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move(*end, steps=4)
        page.mouse.up()
        page.locator("#chooser").get_by_role("button", name=span["category"]).click()
    page.mouse.move(5, 5)
    page.locator("#save-state[data-state=saved]").wait_for()
    page.screenshot(path=IMAGES / "annotator.png", animations="disabled")


def texts(page: Page) -> Iterator[tuple[int, str]]:
    """Yield position and text of each item of the seat."""
    base = page.url.split("#")[0]
    for item in page.request.get(f"{base}/items").json():
        yield item["position"], page.request.get(f"{base}/items/{item['position']}").json()["text"]


def sample_spans() -> dict[str, list[dict[str, Any]]]:
    """Return the spans of sample A by text; the demo's texts hold no characters of two UTF-16 units."""
    lines = (paths.CAMPAIGNS / "demo" / "sample-a.jsonl").read_text("utf-8").splitlines()
    return {record["text"]: record["spans"] for record in map(json.loads, lines)}


def look(page: Page, address: str, user: dict[str, str]) -> None:
    """Sign in and photograph the overview and the agreement of the two samples."""
    page.goto(address)
    page.get_by_label("Email").fill(user["email"])
    page.get_by_label("Password").fill(user["password"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("demo-people").first.wait_for()
    page.screenshot(path=IMAGES / "overview.png", animations="disabled")
    page.goto(f"{address}/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=IMAGES / "agreement.png", animations="disabled")


if __name__ == "__main__":
    main()
