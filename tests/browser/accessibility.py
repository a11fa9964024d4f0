"""Violations that axe-core finds on a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# A press or a click changes colours gradually; between the two they are neither what they were nor what they will be.
COLOURS_HAVE_CHANGED = """() => Promise.allSettled(
  document.getAnimations().filter((animation) => animation instanceof CSSTransition).map(({ finished }) => finished))"""


def problems_of(page: Page) -> str:
    """Return what is wrong with a page once it stands there whole, in words; nothing where it is as it should be."""
    page.wait_for_load_state()
    page.evaluate(COLOURS_HAVE_CHANGED)
    found = Axe().run(page)
    return str(found.generate_report()) if found.violations_count else ""


def require_accessible(page: Page) -> None:
    """Fail where axe-core finds a violation."""
    assert problems_of(page) == "", page.url
