"""Administrators' pages and the page of one's own account in a real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from spanplat.models import Role
from spanplat.services.accounts.users import add_user
from tests.browser.accessibility import require_accessible
from tests.browser.conftest import LiveServer

pytestmark = pytest.mark.browser


@pytest.fixture
def password(live_server: LiveServer) -> str:
    """Password of the administrator root@example.org."""
    with live_server.database.transaction() as session:
        add_user(session, "viewer@example.org", Role.VIEWER)
        return add_user(session, "root@example.org", Role.ADMIN)[1]


def sign_in(page: Page, password: str) -> None:
    page.goto("/")
    page.get_by_label("Email").fill("root@example.org")
    field = page.get_by_label("Password")
    expect(field).to_have_attribute("autocomplete", "current-password")
    field.fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="People")).to_be_visible()


def test_somebody_is_invited_and_makes_an_account(new_page: Callable[..., Page], password: str) -> None:
    admin, guest = new_page(), new_page()
    sign_in(admin, password)
    admin.get_by_role("link", name="People").click()
    admin.get_by_label("Email").fill("new@example.org")
    admin.get_by_role("button", name="Make a link").click()
    guest.goto(admin.locator("#invitation-link").inner_text())
    password_field = guest.get_by_label("Password", exact=True)
    password_field.press_sequentially("qwerty")
    expect(guest.get_by_role("status")).to_contain_text("Too short")
    password_field.fill("correct horse battery")
    expect(guest.get_by_role("status")).to_contain_text("Very strong")
    guest.get_by_role("button", name="Show “Password”", exact=True).click()
    expect(password_field).to_have_attribute("type", "text")
    password_field.press("ControlOrMeta+a")
    password_field.press("ControlOrMeta+c")
    guest.get_by_role("button", name="Show “Password”", exact=True).click()
    expect(password_field).to_have_attribute("type", "password")
    again = guest.get_by_label("Password again", exact=True)
    for field in (password_field, again):
        field.fill("")
        field.press("ControlOrMeta+v")
        expect(field).to_have_value("correct horse battery")
        expect(field).to_have_attribute("autocomplete", "new-password")
    guest.get_by_role("button", name="Make my account").click()
    expect(guest.get_by_role("heading", name="Campaigns")).to_be_visible()
    expect(guest.get_by_role("link", name="People")).to_have_count(0)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_pages_are_accessible_and_fit_their_window(
    new_page: Callable[..., Page], password: str, scheme: str, width: int
) -> None:
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 844})
    sign_in(page, password)
    page.goto("/admin/account/second-factor")
    page.get_by_label("Your password").fill(password)
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    for address in ("/admin/people", "/admin/audit", "/admin/account", "/admin/account/second-factor"):
        page.goto(address)
        require_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
