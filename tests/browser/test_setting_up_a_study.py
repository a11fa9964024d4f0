"""A whole study in a real browser: from a file to texts that three people have marked."""

import csv
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

HOTELS = {
    "1": ("Gasthof Lindwurm", "11 rooms; sauna; 4 km from the lake; breakfast 12 EUR"),
    "2": ("Casa Ferrol", "6 rooms; roof terrace; in the old town; no lift"),
    "3": ("Inn at Mossgate", "20 rooms; pub; car park; dogs welcome"),
    "4": ("Hotel Brückenkopf", "58 rooms; gym; beside the station; breakfast included"),
    "5": ("Villa Quercia", "9 rooms; garden; pool from May to September"),
    "6": ("Fjordstua", "14 rooms; boat hire; open all year; quiet"),
}
CHECKS = {
    "loud": ("Pension Uhlig", "5 rooms; kettle", "Five rooms, each with a kettle and a private volcano."),
    "true": ("Pension Uhlig", "5 rooms; kettle", "Five rooms, each with a kettle."),
}
COLUMNS = ("hotel no", "written by", "known facts", "blurb", "part")
"""None of them a name that is guessed."""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two short texts for each of six hotels, and two texts for checks."""
    rows = [
        (number, writer, f"{name}: {facts}", f"{opening} {name}, with {facts.split('; ')[1]}.", "short")
        for number, (name, facts) in HOTELS.items()
        for writer, opening in (("quill", "Come and stay at"), ("nib", "Rest well in"))
    ]
    rows += [(key, "quill", f"{name}: {facts}", text, "checks") for key, (name, facts, text) in CHECKS.items()]
    file = tmp_path / "blurbs.csv"
    with file.open("w", encoding="utf-8", newline="") as lines:
        csv.writer(lines).writerows([COLUMNS, *rows])
    return file


@pytest.fixture
def worker(live_server: LiveServer, web_home: Path) -> Iterator[None]:
    """A background worker, as a process of its own."""
    environment = os.environ | {
        "SPANPLAT_HOME": str(web_home),
        "SPANPLAT_DATABASE_URL": live_server.database.engine.url.render_as_string(hide_password=False),
        "SPANPLAT_REDIS_URL": "",
    }
    process = subprocess.Popen([sys.executable, "-m", "spanplat", "worker"], env=environment)
    yield
    process.send_signal(signal.SIGTERM)
    process.wait(60)


@pytest.mark.usefixtures("worker")
def test_a_researcher_sets_up_a_study_and_reads_what_people_marked(
    live_server: LiveServer, page: Page, signed_in: Callable[[Page], Page], table: Path
) -> None:
    signed_in(page)
    import_table(page, table)
    write_definition(page)
    preview_and_make(page)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#progress progress").first).to_have_attribute("value", "0")
    marked = [annotate(live_server.url, f"person-{number}") for number in range(3)]
    # The page was not touched meanwhile: what people did comes by itself.
    expect(page.locator("#progress .state.submitted")).to_have_count(2)
    expect(page.locator("#progress")).to_contain_text("18")
    amend_guidelines(page)
    read_marks(page, sum(marked))


def import_table(page: Page, table: Path) -> None:
    page.get_by_role("link", name="Datasets").click()
    page.get_by_label("File").set_input_files(table)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("no column looks like the text")
    page.wait_for_load_state()
    for role, column in (("key", 0), ("system", 1), ("source", 2), ("split", 4), ("text", 3)):
        with page.expect_navigation():
            page.locator(f"select[name={role}]").select_option(COLUMNS[column])
    expect(page.get_by_text("Come and stay at Gasthof Lindwurm, with sauna.")).to_be_visible()
    page.get_by_label("Name of the dataset").fill("blurbs")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Every row could be used.")).to_be_visible()


def write_definition(page: Page) -> None:
    """Go through every step, make a mistake in each, and mend it."""
    page.get_by_role("link", name="Campaigns").click()
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label("Start from").select_option("starter:hotel-highlights-spans-short")
    with page.expect_navigation():
        page.get_by_role("button", name="Begin").click()
    mistake_and_mend(page, "slug", "Our blurbs", said="lower-case letters", right="our-blurbs")
    go_on(page, "Data")
    mistake_and_mend(page, "data.dataset", "blurb", said="blurb", right="blurbs", stays=True)
    expect(page.locator("#state")).to_contain_text("Elsewhere")
    go_on(page, "Categories")
    mistake_and_mend(page, "categories.1.name", "Made up", said="two categories have the name", right="Wrong fact")
    go_on(page, "Guidelines")
    field(page, "guidelines").fill("Mark what the **facts** do not say.")
    expect(page.locator("#state .preview")).to_have_text("Mark what the facts do not say.")
    add_and_take_back(page, "worked_examples", said="Worked examples 1 › Text")
    go_on(page, "Questions")
    mistake_and_mend(page, "questions.0.label", "", said="Label", right="I found no errors.")
    go_on(page, "Checks")
    mark_checks(page)
    go_on(page, "Assignment")
    mistake_and_mend(page, "batches.regular", "-4", said="greater than or equal", right="4")
    expect(page.locator("#state")).to_contain_text("People, at least")
    go_on(page, "Platform")
    mistake_and_mend(page, "platform.minutes", "-5", said="Platform › Minutes", right="8")
    expect(page.locator("#state .implied")).to_contain_text("£12.00")
    field(page, "platform.reward").fill("£0.10")
    expect(page.locator("#state")).to_contain_text("is below the minimum")
    field(page, "platform.reward").fill("£2.00")
    expect(page.locator("#state")).not_to_contain_text("is below the minimum")
    go_on(page, "Model")
    add_and_take_back(page, "model", said="Model › Provider")
    with page.expect_navigation():
        page.get_by_role("button", name="Review and make ›").click()


def field(page: Page, name: str) -> Locator:
    return page.locator(f"[id='f-{name}']")


def go_on(page: Page, step: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=f"{step} ›").click()
    expect(page.get_by_role("link", name=re.compile(rf"^\d {step}"))).to_have_attribute("aria-current", "page")


def mistake_and_mend(page: Page, name: str, mistake: str, *, said: str, right: str, stays: bool = False) -> None:
    field(page, name).fill(mistake)
    expect(page.locator("#state")).to_contain_text(said)
    field(page, name).fill(right)
    if not stays:
        expect(page.locator("#state")).to_contain_text("Nothing to mend here")


def add_and_take_back(page: Page, name: str, *, said: str) -> None:
    """Add something that is not wanted, read what it lacks, and remove it."""
    with page.expect_navigation():
        page.locator(f"button[name=act][value='add:{name}']").click()
    expect(page.locator("#state")).to_contain_text(said)
    with page.expect_navigation():
        page.locator(f"button[name=act][value^='remove:{name}']").first.click()
    expect(page.locator("#state")).to_contain_text("Nothing to mend here")


def mark_checks(page: Page) -> None:
    """Name the texts of the checks, one of them wrongly at first, and select the words that should be marked."""
    for number, key in enumerate(CHECKS):
        field(page, f"checks.{number}.item.system").fill("quill")
        field(page, f"checks.{number}.item.example").fill(key)
    field(page, "checks.0.item.example").fill("lout")
    expect(page.locator("#state")).to_contain_text("lout")
    field(page, "checks.0.item.example").fill("loud")
    text = page.locator("[data-text-of='checks.0']")
    expect(text).to_have_text(CHECKS["loud"][2])
    expect(page.locator("#state")).to_contain_text("rocket launch pad")
    select_words(page, "checks.0", "private volcano")
    page.get_by_role("button", name="Expect the selected words").first.click()
    expect(field(page, "checks.0.expected.quote")).to_have_value("private volcano")
    expect(page.locator("#state")).to_contain_text("Nothing to mend here")


def select_words(page: Page, check: str, words: str) -> None:
    """Select words of a check's text with the mouse."""
    places = page.locator(f"[data-text-of='{check}']").evaluate(
        """(text, words) => {
          text.scrollIntoView({ block: "center" });
          const node = text.firstChild, start = node.data.indexOf(words);
          const range = document.createRange();
          range.setStart(node, start);
          range.setEnd(node, start + words.length);
          const boxes = [...range.getClientRects()];
          const first = boxes[0], last = boxes.at(-1);
          return [[first.left + 1, (first.top + first.bottom) / 2], [last.right - 1, (last.top + last.bottom) / 2]];
        }""",
        words,
    )
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1])
    page.mouse.up()


def preview_and_make(page: Page) -> None:
    """Read the checklist, look at the page that annotators will see, come back, and make the campaign."""
    checklist = page.locator(".checklist")
    expect(checklist.locator("> [data-done=yes]")).to_have_count(10)
    expect(checklist).to_contain_text("not to use language models")
    page.get_by_role("link", name="Preview as annotators see it").first.click()
    expect(page.locator("#opening").get_by_text("Mark what the")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#text")).to_be_visible()
    page.get_by_role("link", name="Back to the draft").click()
    page.get_by_role("button", name="Make the campaign").click()
    expect(page.get_by_text("Nobody gets in by it until the campaign is open.")).to_be_visible()


def annotate(server: str, person: str) -> int:
    """Do what one person's browser would: agree, mark the first word of each third text, pass the checks, submit.

    Returns how many spans were marked.
    """
    arrival = {"PROLIFIC_PID": person, "STUDY_ID": "study", "SESSION_ID": person}
    with httpx.Client(base_url=server, timeout=60) as client:
        work = client.get("/c/our-blurbs/start", params=arrival).headers["Location"]
        client.post(f"{work}/consent", data={"agreed": "yes"})
        marked = 0
        for number, entry in enumerate(client.get(f"{work}/items").json()):
            position = entry["position"]
            item = client.get(f"{work}/items/{position}").json()
            words = {CHECKS["loud"][2]: "private volcano", CHECKS["true"][2]: ""}.get(
                item["text"], item["text"].split()[0] if number % 3 == 0 else ""
            )
            start = item["text"].index(words)
            span = {"start": start, "end": start + len(words), "category": "hallucination", "text": words}
            body = {
                "revision": 0,
                "status": "complete",
                "spans": [span] if words else [],
                "answers": {} if words else {"no-errors": True},
            }
            answer = client.put(f"{work}/items/{position}", json=body)
            assert answer.status_code == 200, answer.text
            marked += bool(words)
        assert client.post(f"{work}/submit").status_code == 200
    return marked


def amend_guidelines(page: Page) -> None:
    """Try to change what may not change, then what may."""
    with page.expect_navigation():
        page.get_by_role("link", name="Definition").click()
    with page.expect_navigation():
        page.get_by_role("link", name="Amend").click()
    text = page.get_by_label("The definition as YAML")
    definition = text.input_value()
    text.fill(definition.replace("key: contradiction", "key: clash"))
    expect(page.locator("#changes")).to_contain_text("may not change after the launch")
    text.fill(definition.replace("do not say", "are silent about"))
    expect(page.locator("#changes ins")).to_contain_text("are silent about")
    page.get_by_label("Why").fill("Two people asked what counts.")
    page.get_by_role("button", name="Put in force").click()
    expect(page.get_by_role("region", name="Amendments")).to_contain_text("Two people asked what counts.")


def read_marks(page: Page, spans: int) -> None:
    with page.expect_navigation():
        page.get_by_role("link", name="Texts").click()
    page.get_by_text("Campaigns: all").click()
    page.get_by_label(re.compile("our-blurbs")).check()
    page.keyboard.press("Escape")
    with page.expect_navigation():
        page.get_by_role("button", name="Show").click()
    counts = page.locator("table.outputs tbody tr td:last-child").all_inner_texts()
    assert sum(map(int, counts)) == spans
    page.get_by_role("link", name=CHECKS["loud"][2]).click()
    expect(page.locator(".layer .mark").first).to_have_text("private volcano")
    expect(page.locator(".layer").first).to_contain_text("check passed")
