"""Loading time of the agreement page in Chromium: people compared with a model on the 1,200 texts of the research data.

Each cold visit starts without stored results and measures the time to the headline figures, and to all figures (γ, intervals, people
among themselves, charts). Then the same addresses are requested again in one process. Run ``python -m bench.agreement_page``.
"""

import argparse
import shutil
import statistics
import time

from playwright.sync_api import Browser, sync_playwright
from sqlalchemy import delete, select

from bench.import_d2t import DATA
from spanplat.db import Database
from spanplat.models import AgreementResult, Role, User
from spanplat.services.accounts.users import add_user
from spanplat.services.campaigns.importing import import_campaign
from spanplat.settings import Settings
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.app import create_app
from tests.simulation.databases import fresh_database
from tests.simulation.serving import Server

PAIR = "reference=people&hypothesis=model"
AGAIN = 20
EVERYTHING = """() => document.querySelector(".cards .interval")?.textContent.trim()
  && !document.querySelector("[aria-busy='true'], .computing[hx-trigger], form[hx-trigger='load'], [hx-trigger='load']")
  && [...document.images].every((image) => ((image.loading = "eager"), image.complete))"""


def visit(browser: Browser, url: str, password: str) -> tuple[float, float]:
    """Return the seconds from the request for the page to its headline figures, and to all figures."""
    page = browser.new_context(base_url=url).new_page()
    page.goto("/")
    page.get_by_label("Email").fill("viewer@example.org")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    begin = time.perf_counter()
    page.goto(f"/admin/agreement?{PAIR}", wait_until="commit")
    page.locator(".cards .big").first.wait_for()
    headline = time.perf_counter() - begin
    page.wait_for_function(EVERYTHING, polling=20)
    everything = time.perf_counter() - begin
    page.context.close()
    return headline, everything


def ask_again(database: Database, server_home: Settings) -> float:
    """Print the time of each part with stored figures; return the milliseconds of the slowest."""
    client = create_app(server_home, database).test_client()
    with database.reading() as session, client.session_transaction() as cookie:
        cookie["_user_id"] = StaffMember.of(session.scalars(select(User)).one()).get_id()
    addresses = {
        "page": f"/admin/agreement?{PAIR}",
        "agreement part": f"/admin/computed/agreement?{PAIR}",
        "distribution part": f"/admin/computed/distribution?{PAIR}",
        "list of outputs": f"/admin/agreement/outputs?{PAIR}",
    }
    slowest = 0.0
    for title, address in addresses.items():
        seconds, size = [], 0
        for _ in range(AGAIN):
            begin = time.perf_counter()
            response = client.get(address, headers={"HX-Request": "true"} if "part" in title else {})
            seconds.append(time.perf_counter() - begin)
            size = len(response.data)
            if response.status_code != 200:
                raise SystemExit(f"{address}: {response.status}")
        milliseconds = statistics.median(seconds) * 1000
        slowest = max(slowest, milliseconds)
        print(f"warm, {title}: median {milliseconds:.0f} ms, {size / 1000:.0f} KB")
    return slowest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=5)
    arguments = parser.parse_args()
    with fresh_database("sqlite") as url:
        database = Database(url)
        for slug, folder in (("people", "human/test"), ("model", "model/test/o3-mini")):
            import_campaign(
                database,
                DATA / "annotations" / folder,
                slug=slug,
                format="factgenie",
                outputs=DATA / "outputs",
                inputs=DATA / "inputs",
            )
        with database.transaction() as session:
            _user, password = add_user(session, "viewer@example.org", Role.VIEWER)
        with Server(url) as server, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            visits = []
            for number in range(1, arguments.visits + 1):
                with database.transaction() as session:
                    session.execute(delete(AgreementResult))
                headline, everything = visit(browser, f"http://127.0.0.1:{server.port}", password)
                visits.append((headline, everything))
                print(f"cold visit {number}: headline figures {headline:.2f} s, everything {everything:.2f} s")
            browser.close()
            warm = ask_again(database, Settings(home=server.home, _env_file=None))
        headline, everything = (statistics.median(seconds) for seconds in zip(*visits, strict=True))
        print(
            "| headline figures, cold | everything, cold | slowest answer, warm |\n|---|---|---|\n"
            f"| {headline:.2f} s | {everything:.2f} s | {warm:.0f} ms |"
        )
        database.dispose()


if __name__ == "__main__":
    main()
