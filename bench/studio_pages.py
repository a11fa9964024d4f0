"""Cost of every researcher's page for a large study: milliseconds, bytes and SQL statements, on both databases.

The script requests every page, part of a page, chart and download of researchers over HTTP, compressed as for a browser: three times,
downloads once. It uses a study of 10,000 outputs with 100,000 spans, and the research data. Run ``python -m bench.studio_pages``. With
``--peer PYTHON``, an interpreter that has factgenie 1.2.1, it also measures factgenie's pages about the same data.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import factgenie_pages
from bench.import_d2t import DATA, TimedDatabase, import_everything
from spanplat.db import Database
from tests.simulation.databases import KINDS, fresh_database, kinds_of
from tests.simulation.large_study import CAMPAIGNS, make_large_study
from tests.simulation.other_work import add_other_work
from tests.simulation.page_addresses import (
    LEFT_OUT,
    Places,
    addresses_of,
    unknown_routes,
)
from tests.simulation.studio import Studio, Visit, look_up_places

TIMES = 3
EXAMPLES, SHORT_EXAMPLES = 1_000, 60
SEARCHES = ("battery", "pršet", "雨が降り", "Report 77", "nothing like this", "é")
RESEARCH_SEARCHES = ("temperature", "Report 77", "21", "nothing like this")


def visit_everything(studio: Studio, places: Places, matching: str = "", *, times: int = TIMES) -> list[Visit]:
    """Request every address that contains a text, this number of times; pages also as htmx does."""
    visits = []
    with studio.serving() as connection:
        for page in addresses_of(studio.app, places):
            if matching not in page.address:
                continue
            whole = studio.visit(connection, page, fragment=False, times=times)
            is_page = whole.media_type == "text/html" and not whole.is_file
            visits.append(whole)
            if is_page:
                part = studio.visit(connection, page, fragment=True, times=times)
                if part.size != whole.size:
                    visits.append(part)
    return visits


def measure(
    url: str, *, title: str, campaigns: Sequence[str], searches: Sequence[str], matching: str, peer: str = ""
) -> int:
    """Visit all pages and print the results; return the number of misses. ``peer`` is an interpreter that has factgenie."""
    with tempfile.TemporaryDirectory(prefix="spanplat-bench-") as name:
        home = Path(name)
        database = Database(url)
        studio = Studio(database, home)
        places = look_up_places(database, home, campaigns, searches)
        studio.compute(database, places)
        visits = visit_everything(studio, places, matching)
        unknown = unknown_routes(studio.app, places)
        theirs = []
        if peer:
            with database.reading() as session:
                theirs = factgenie_pages.measure_pages(peer, session, campaigns)
        database.dispose()
    print(f"\n== {title}: {len(visits)} addresses; median and worst of {TIMES} (processor), sent and uncompressed")
    for visit in visits:
        print(visit)
    pages = [visit for visit in visits if not visit.is_file]
    missed = [visit for visit in visits if visit.misses]
    for route in unknown:
        print(f"not measured, for want of something to stand in its address: {route}")
    for endpoint, reason in {**LEFT_OUT, **places.lacking}.items():
        print(f"not measured: {endpoint}, for {reason}")
    slowest = max(pages, key=lambda visit: statistics.median(visit.milliseconds))
    largest = max(pages, key=lambda visit: visit.size)
    print(f"{title}: slowest page {slowest.address}, largest page {largest.address}")
    print(
        "| study | pages and parts | slowest | largest, uncompressed | most statements | miss an aim |\n|---|---|---|---|---|---|\n"
        f"| {title} | {len(pages)} | {statistics.median(slowest.milliseconds):.0f} ms | {largest.size / 1000:.0f} KB "
        f"| {max(visit.statements for visit in pages)} | {len(missed)} |"
    )
    print(factgenie_pages.comparison(_worst(pages), theirs))
    return len(missed)


def _worst(visits: Sequence[Visit]) -> dict[str, tuple[float, float]]:
    """Return the milliseconds of the slowest and the kilobytes of the largest whole page of each endpoint."""
    whole = [visit for visit in visits if not visit.fragment and visit.status == 200]
    return {
        endpoint: (
            max(statistics.median(visit.milliseconds) for visit in whole if visit.endpoint == endpoint),
            max(visit.size for visit in whole if visit.endpoint == endpoint) / 1000,
        )
        for endpoint in {visit.endpoint for visit in whole}
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the research data (default: {DATA})")
    parser.add_argument("--only", choices=["made", "research"], help="one of the two studies")
    parser.add_argument("--matching", default="", metavar="TEXT", help="print addresses that contain this")
    parser.add_argument(
        "--peer", default="", metavar="PYTHON", help="an interpreter that has factgenie 1.2.1, to measure it too"
    )
    parser.add_argument("--short", action="store_true", help=f"a made study of {SHORT_EXAMPLES * 10} outputs")
    options = parser.parse_args()
    missed = 0
    for kind in kinds_of(options.database):
        for study in [options.only] if options.only else ["made", "research"]:
            if study == "research" and not options.data.is_dir():
                print(f"there is no research data at {options.data}; name its folder with --data", file=sys.stderr)
                continue
            with fresh_database(kind) as url:
                examples = SHORT_EXAMPLES if options.short else EXAMPLES
                campaigns, searches = _made(url, examples) if study == "made" else _research(url, options.data)
                missed += measure(
                    url,
                    title=f"{kind}, {study} study",
                    campaigns=campaigns,
                    searches=searches,
                    matching=options.matching,
                    peer=options.peer,
                )
    return 1 if missed else 0


def _made(url: str, examples: int) -> tuple[Sequence[str], Sequence[str]]:
    """Fill a database with the generated study; return its campaigns, and words to search for."""
    database = Database(url)
    print(make_large_study(database, examples))
    add_other_work(database, examples)
    database.dispose()
    return CAMPAIGNS, SEARCHES


def _research(url: str, data: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Fill a database with the research data; return the campaigns to compare, and words to search for."""
    database = TimedDatabase(url)
    print(import_everything(database, data))
    database.dispose()
    return ("human-test", "model-test-o3-mini"), RESEARCH_SEARCHES


if __name__ == "__main__":
    sys.exit(main())
