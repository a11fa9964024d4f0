"""Worked examples are drawn as the annotator's page draws spans, with category and reason."""

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import require_accessible
from tests.browser.annotator.person import Annotator, OpenStudy

pytestmark = pytest.mark.browser

EXAMPLES = [
    {
        "text": "The Grand 🌉 Hotel has a pool and free breakfast.",
        "source": {"name": "Grand", "breakfast": "9 EUR"},
        "spans": [
            {"quote": "a pool and free breakfast", "category": "Incorrect", "why": "Not in the *data*."},
            {"quote": "free", "category": "Misleading"},
        ],
    },
    {"text": "The Grand has rooms.", "note": "A good result."},
]
WEATHER = {
    "text": "It gets warmer every day.",
    "source": {"forecast": [{"date": f"2025-02-{day}", "temp": day * 1.5} for day in range(10, 16)]},
}


def test_examples_are_drawn_before_the_work_and_stay_one_key_away(annotator: Annotator, open_study: OpenStudy) -> None:
    question = {"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}
    page = annotator.page
    examples = [*EXAMPLES, WEATHER]
    page.goto(open_study("First text here.", worked_examples=examples, comprehension={"questions": [question]}))
    for place in ("main", "#opening", "#instructions"):
        marks = page.locator(f"{place} [data-worked] mark")
        expect(marks).to_have_text(["a pool and ", "free", " breakfast"])
        expect(marks.first).to_have_attribute("data-label", "1")
        expect(page.locator(f"{place} .worked").first).to_contain_text("Not in the data.")
        expect(page.locator(f"{place} .worked").last).to_contain_text("There is nothing to mark here.")
        expect(page.locator(f"{place} .chart title").first).to_have_text("2025-02-10: temp 15.0")
        require_accessible(page)
        if place == "main":
            page.get_by_label("Errors").check()
            page.get_by_role("button", name="Check my answers").click()
        elif place == "#opening":
            page.get_by_role("button", name="Start").click()
            annotator.ready()
            page.keyboard.press("i")
