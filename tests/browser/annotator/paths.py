"""The three ways into a study and out of it: Prolific's links, MTurk's frame, and a direct link."""

from typing import Any, ClassVar, Protocol

from playwright.sync_api import FrameLocator, Page, Route, expect

SANDBOX = "https://workersandbox.mturk.com"
CODES = {"completed": "DONE123", "failed_attention": "FAIL123", "screened_out": "OUT123", "no_consent": "BYE123"}

Place = Page | FrameLocator
"""Where the study's pages are seen."""


class Path(Protocol):
    """One of the ways."""

    page: Page
    platform: ClassVar[dict[str, Any]]
    """Settings of a campaign whose people come by it."""

    def __init__(self, page: Page, link: str) -> None: ...

    def come(self, person: str, *, page: Page | None = None) -> Place:
        """Open the study as somebody, in a browser of one's own or in another."""

    def content(self) -> str:
        """Return the HTML of the study's page."""

    def leads_on(self, place: Place, outcome: str | None) -> None:
        """Check how an ending is reported to where people came from; an outcome of None reports nothing."""


class Prolific:
    """The study opens in a page of its own; a link with the code leads back."""

    platform: ClassVar[dict[str, Any]] = {"service": "prolific", "codes": CODES, "minutes": 3}

    def __init__(self, page: Page, link: str) -> None:
        self.page, self.link = page, link

    def come(self, person: str, *, page: Page | None = None) -> Place:
        page = page or self.page
        page.goto(f"{self.link}?PROLIFIC_PID={person}&STUDY_ID=study&SESSION_ID=s-{person}")
        return page

    def content(self) -> str:
        return self.page.content()

    def leads_on(self, place: Place, outcome: str | None) -> None:
        back = place.get_by_role("link", name="Return to the platform")
        if outcome is None:
            expect(place.get_by_text("Please return the study on the platform you came from.")).to_be_visible()
            expect(back).to_have_count(0)
        else:
            code = CODES[outcome]
            expect(place.locator(".code")).to_have_text(code)
            expect(back).to_have_attribute("href", f"https://app.prolific.com/submissions/complete?cc={code}")


class Direct:
    """The study opens by a link that names the person or nobody; the code is shown."""

    platform: ClassVar[dict[str, Any]] = {"service": "direct", "codes": CODES, "minutes": 3}

    def __init__(self, page: Page, link: str) -> None:
        self.page, self.link = page, link

    def come(self, person: str, *, page: Page | None = None) -> Place:
        page = page or self.page
        page.goto(f"{self.link}?annotator={person}" if person else self.link)
        return page

    def content(self) -> str:
        return self.page.content()

    def leads_on(self, place: Place, outcome: str | None) -> None:
        expect(place.get_by_text("on the platform you came from")).to_have_count(0)
        if outcome is None:
            expect(place.get_by_text("You can close this page now.")).to_be_visible()
        else:
            expect(place.locator(".code")).to_have_text(CODES[outcome])


class MTurk:
    """The study opens in a frame of MTurk's page; a form hands the assignment in, unless there is nothing to hand in."""

    platform: ClassVar[dict[str, Any]] = {"service": "mturk", "codes": CODES, "minutes": 3}

    def __init__(self, page: Page, link: str) -> None:
        self.page, self.link = page, link
        self.person = ""
        self.received: list[str] = []

    def come(self, person: str, *, page: Page | None = None) -> Place:
        self.person = person
        ids = f"workerId={person}&hitId=hit&assignmentId=as-{person}&turkSubmitTo={SANDBOX}"
        return self.open(ids, page=page)

    def open(self, ids: str, *, page: Page | None = None) -> FrameLocator:
        """Open a page of MTurk's that frames the study with these parameters."""
        page = page or self.page
        page.unroute_all()
        self.received = stand_in_for_mturk(page, f"{self.link}?{ids}")
        page.goto(f"{SANDBOX}/task")
        return page.frame_locator("iframe")

    def content(self) -> str:
        return self.page.frames[1].content()

    def leads_on(self, place: Place, outcome: str | None) -> None:
        back = place.get_by_role("button", name="Return to the platform")
        if outcome in (None, "no_consent"):
            expect(place.get_by_text("Please return the study on the platform you came from.")).to_be_visible()
            expect(back).to_have_count(0)
        else:
            back.click()
            expect(place.get_by_text("Thank you, worker.")).to_be_visible()
            assert self.received == [f"assignmentId=as-{self.person}&outcome={outcome}"]


PATHS: tuple[type[Path], ...] = (Prolific, MTurk, Direct)


def stand_in_for_mturk(page: Page, framed: str) -> list[str]:
    """Answer for MTurk: a page that frames the study, and the address that takes finished work; returns what it was sent."""
    received: list[str] = []

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            received.append(route.request.post_data or "")
            route.fulfill(body="<p>Thank you, worker.</p>", content_type="text/html")
        else:
            frame = f'<iframe src="{framed}" width="1200" height="700"></iframe>'
            route.fulfill(body=f"<!doctype html><title>HIT</title>{frame}", content_type="text/html")

    page.route(f"{SANDBOX}/**", answer)
    return received
