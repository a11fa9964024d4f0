"""A study is set up, launched and closed with the keyboard only; the focus is visible at each step."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from spanplat.models import Role
from spanplat.services.accounts.users import add_user
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser

MOST_STOPS = 300
LOOK = """() => {
  const at = document.activeElement;
  if (at === document.body) return "";
  const name = `${at.tagName} ${at.id || at.textContent.trim().slice(0, 40)}`;
  const style = getComputedStyle(at);
  if (!at.matches(":focus-visible") || style.outlineStyle === "none") return `${name} shows no focus`;
  const box = at.getClientRects()[0];
  const x = (Math.max(box.left, 0) + Math.min(box.right, innerWidth)) / 2;
  const isThere = (share) => {
    const over = document.elementFromPoint(x, box.top + box.height * share);
    return over && (at.contains(over) || over.contains(at));
  };
  return [0.1, 0.5, 0.9].some(isThere) ? "seen" : `${name} is out of sight or covered`;
}"""


class Keys:
    """Somebody without a mouse."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def require_seen(self) -> None:
        """The focus is somewhere on the page, and can be seen."""
        assert self.page.evaluate(LOOK) == "seen"

    def to(self, target: Locator, key: str = "Tab") -> None:
        """Walk to something with Tab; at every stop the focus can be seen, and the end of the page is passed once at most."""
        expect(target).to_be_visible()
        ends = 0
        for _ in range(MOST_STOPS):
            if target.evaluate("element => element === document.activeElement"):
                self.require_seen()
                return
            self.press(key)
            seen = self.page.evaluate(LOOK)
            ends += seen == ""
            assert seen in ("", "seen"), seen
            assert ends < 2, "Tab does not lead there"
        raise AssertionError("the focus is trapped")

    def go(self, target: Locator, to: Locator | None = None) -> None:
        """Press a button or a link that leads to another page, and find the focus where that says."""
        self.to(target)
        with self.page.expect_navigation():
            self.press("Enter")
        if to is not None:
            expect(to).to_be_focused()
            self.require_seen()

    def write(self, target: Locator, text: str, key: str = "Tab") -> None:
        self.to(target, key)
        self.press("Control+a", "Delete")
        self.page.keyboard.type(text)

    def choose(self, target: Locator, value: str) -> None:
        self.to(target)
        self.press("Home")
        for _ in range(target.locator("option").count()):
            if target.input_value() == value:
                return
            self.press("ArrowDown")
        raise AssertionError(f"there is no {value}")


@pytest.fixture
def keys(live_server: LiveServer, page: Page) -> Keys:
    """A researcher who signs in with keys."""
    with live_server.database.transaction() as session:
        user, password = add_user(session, "keys@example.org", Role.RESEARCHER)
    keys = Keys(page)
    page.goto("/")
    keys.write(page.get_by_label("Email"), user.email)
    keys.write(page.get_by_label("Password"), password)
    keys.go(page.get_by_role("button", name="Sign in"))
    return keys


def test_a_study_is_set_up_launched_and_closed_with_the_keyboard_alone(keys: Keys) -> None:
    begin(keys)
    bring_data(keys)
    write_categories(keys)
    write_guidelines_and_questions(keys)
    mark_the_check(keys)
    mend_numbers(keys)
    visit_the_text(keys)
    preview_and_launch(keys)


def field(keys: Keys, name: str) -> Locator:
    return keys.page.locator(f"[id='f-{name}']")


def place(keys: Keys, identifier: str) -> Locator:
    return keys.page.locator(f"[id='{identifier}']")


def go_on(keys: Keys, step: str, first: str) -> None:
    keys.go(keys.page.get_by_role("button", name=f"{step} ›"), to=place(keys, first))


def require_told(keys: Keys, name: str, message: str) -> None:
    """A field says what is wrong with it, to the eye and to a screen reader."""
    expect(field(keys, name)).to_have_attribute("aria-invalid", "true")
    told = place(keys, f"b-{name}")
    expect(told).to_contain_text(message)
    assert f"b-{name}" in (field(keys, name).get_attribute("aria-describedby") or "").split()
    expect(keys.page.locator("#said")).to_contain_text(message)


def require_mended(keys: Keys, name: str) -> None:
    expect(field(keys, name)).not_to_have_attribute("aria-invalid", "true")
    expect(place(keys, f"b-{name}")).to_have_count(0)


def begin(keys: Keys) -> None:
    page = keys.page
    keys.go(page.get_by_role("link", name="New campaign"))
    keys.choose(page.get_by_label("Start from"), "starter:hotel-highlights-spans-short")
    keys.go(page.get_by_role("button", name="Begin"), to=field(keys, "slug"))
    keys.write(field(keys, "slug"), "By keys")
    require_told(keys, "slug", "lower-case letters")
    keys.go(page.get_by_role("button", name="Save"), to=field(keys, "slug"))
    keys.write(field(keys, "slug"), "by-keys")
    keys.press("Enter")
    require_mended(keys, "slug")
    expect(field(keys, "slug")).to_be_focused()
    go_on(keys, "Data", "f-data.dataset")


def bring_data(keys: Keys) -> None:
    expect(place(keys, "b-data.dataset")).to_contain_text("there is no dataset")
    keys.go(keys.page.get_by_role("button", name="Take the dataset hotels"), to=field(keys, "data.dataset"))
    require_mended(keys, "data.dataset")
    keys.write(field(keys, "data.dataset"), "hotel")
    require_told(keys, "data.dataset", "there is no dataset")
    keys.write(field(keys, "data.dataset"), "hotels")
    require_mended(keys, "data.dataset")
    go_on(keys, "Categories", "f-categories.0.name")


def write_categories(keys: Keys) -> None:
    page = keys.page
    keys.go(page.get_by_role("button", name="Add to categories"), to=field(keys, "categories.2.name"))
    expect(place(keys, "b-categories.2.name")).to_contain_text("is missing")
    page.keyboard.type("Left out")
    require_mended(keys, "categories.2.name")
    keys.write(field(keys, "categories.2.color"), "red")
    require_told(keys, "categories.2.color", "'red'")
    keys.write(field(keys, "categories.2.color"), "#112233")
    require_mended(keys, "categories.2.color")
    keys.write(field(keys, "categories.2.hotkey"), "7")
    # Rows take the focus with them.
    keys.go(place(keys, "a-up:categories.2"), to=place(keys, "a-up:categories.1"))
    keys.go(place(keys, "a-down:categories.1"), to=place(keys, "a-up:categories.2"))
    keys.go(page.get_by_role("button", name="Remove: 3. Left out"), to=place(keys, "a-remove:categories.1"))
    expect(field(keys, "categories.2.name")).to_have_count(0)
    go_on(keys, "Guidelines", "f-guidelines")


def write_guidelines_and_questions(keys: Keys) -> None:
    keys.write(field(keys, "guidelines"), "Mark what the **facts** do not say.")
    expect(keys.page.locator("#state .preview")).to_have_text("Mark what the facts do not say.")
    go_on(keys, "Questions", "f-questions.0.label")
    keys.write(field(keys, "questions.0.label"), "")
    require_told(keys, "questions.0.label", "missing")
    page = keys.page
    page.keyboard.type("I found no errors.")
    require_mended(keys, "questions.0.label")
    go_on(keys, "Checks", "f-checks.0.name")


def mark_the_check(keys: Keys) -> None:
    """Select the words in the check's text with the caret, as annotators do."""
    quote, words = field(keys, "checks.0.expected.quote"), "rocket launch pad"
    keys.write(quote, "")
    expect(quote).to_have_value("")
    text = keys.page.locator("[data-text-of='checks.0']")
    expect(text).to_contain_text(words)
    keys.to(text, "Shift+Tab")
    keys.press("Enter")
    expect(keys.page.locator("#said")).to_have_text("Select some words of the text first.")
    before = text.inner_text().index(words)
    keys.press("Control+Home", *["ArrowRight"] * before)
    expect(keys.page.locator(".check-text .caret").first).to_be_visible()
    keys.press(*["Shift+ArrowRight"] * len(words))
    expect(keys.page.locator("#said")).to_have_text(words)
    keys.press("Enter")
    expect(quote).to_have_value(words)
    expect(field(keys, "checks.0.expected.start")).to_have_value(str(before))
    expect(text).to_be_focused()
    expect(keys.page.locator("#state")).to_contain_text("Nothing to mend here")
    go_on(keys, "Assignment", "f-batches.regular")


def mend_numbers(keys: Keys) -> None:
    keys.write(field(keys, "batches.regular"), "1e999")
    require_told(keys, "batches.regular", "'1e999' is not a whole number")
    onwards = keys.page.get_by_role("button", name="Platform ›")
    keys.to(onwards)
    keys.press("Enter")
    # What could not be taken over keeps the page, and the focus goes there.
    expect(field(keys, "batches.regular")).to_be_focused()
    expect(field(keys, "batches.regular")).to_have_value("1e999")
    keys.write(field(keys, "batches.regular"), "4")
    require_mended(keys, "batches.regular")
    go_on(keys, "Platform", "f-platform.service")
    keys.write(field(keys, "platform.reward"), "£3.00")
    go_on(keys, "Model", "a-add:model")
    go_on(keys, "Review and make", "review")


def visit_the_text(keys: Keys) -> None:
    """Look at the definition as text, break it, mend it where the page says, and come back."""
    page = keys.page
    keys.go(page.get_by_role("link", name="As text"))
    text = page.locator("#yaml")
    keys.to(text)
    keys.press("Control+End")
    page.keyboard.type("questions: [")
    expect(text).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#said")).to_contain_text("not valid YAML")
    line = page.locator("#state a[data-line]")
    keys.to(line)
    keys.press("Enter")
    expect(text).to_be_focused()
    keys.press("Control+End", "Shift+Home", "Delete")
    expect(text).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#state")).to_contain_text("Nothing to mend here")
    keys.go(page.get_by_role("link", name=re.compile("Review and make")))


def preview_and_launch(keys: Keys) -> None:
    page = keys.page
    keys.go(page.get_by_role("link", name="Preview as annotators see it"))
    keys.go(page.get_by_role("link", name="Back to the draft"))
    keys.go(page.get_by_role("button", name="Make the campaign"))
    status = page.locator("#status")
    keys.go(page.get_by_role("button", name="Open", exact=True), to=status)
    expect(status).to_have_text("Open")
    keys.go(page.get_by_role("button", name="Close", exact=True), to=status)
    expect(status).to_have_text("Closed")
