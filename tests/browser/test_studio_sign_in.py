"""Staff sign in with a keyboard and a real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_researcher_signs_in_and_out(page: Page, signed_in: Callable[[Page], Page]) -> None:
    signed_in(page)
    expect(page.get_by_role("heading", name="Campaigns")).to_be_visible()


def test_a_wrong_password_is_said_beside_the_form(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_label("Email")).to_be_focused()
    page.keyboard.type("nobody@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("No account has this address and password")
    expect(page.get_by_label("Email")).to_have_value("nobody@example.org")
