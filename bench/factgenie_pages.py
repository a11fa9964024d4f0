"""Cost of factgenie's pages with the same purpose as researchers' pages of spanplat.

`PUBLISHED` was measured once on two cores, with the public data of "LLMs as span annotators": 54 campaigns, 37,343 records,
64,573 spans. `measure_pages` requests the same pages of factgenie with our data.
"""

import http.client
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from bench.factgenie_serving import serving
from bench.factgenie_study import write_study

TIMES = 3


class PeerPage(NamedTuple):
    """A page of factgenie, and our endpoint with the same purpose."""

    name: str
    milliseconds: float
    kilobytes: float | None
    endpoint: str


FIRST, OUTPUT = "list of texts, which first builds its index", "one output with its annotations, index built"
ANALYSIS = "analysis of annotations and agreement"
PEOPLE, MODELS = "overview of a campaign of people", "overview of a campaign of models"
PUBLISHED = (
    PeerPage(OUTPUT, 19, None, "browse.show"),
    PeerPage(ANALYSIS, 507, 7634, "agreement.show"),
    PeerPage(PEOPLE, 236, 1797, "campaigns.show"),
    PeerPage(MODELS, 368, 1267, "campaigns.show"),
)


def measure_pages(python: str, session: Session, campaigns: Sequence[str]) -> list[PeerPage]:
    """Request factgenie's pages about the data of some campaigns: medians of three; the first page once.

    Parameters
    ----------
    python
        An interpreter that has factgenie 1.2.1.
    session
        A reading session of the study.
    campaigns
        Slugs; the first has people, the last has models.

    Raises
    ------
    RuntimeError
        If factgenie does not start, or answers a request with an error.
    """
    with tempfile.TemporaryDirectory(prefix="spanplat-bench-factgenie-") as name:
        place = write_study(session, campaigns, Path(name) / "study")
        pages = (
            (FIRST, "/browse", "browse.index", 1),
            (OUTPUT, f"/example?{urlencode(place._asdict())}", "browse.show", TIMES),
            (ANALYSIS, f"/analyze/detail/{campaigns[0]}", "agreement.show", TIMES),
            (PEOPLE, f"/crowdsourcing/detail/{campaigns[0]}", "campaigns.show", TIMES),
            (MODELS, f"/llm_eval/detail/{campaigns[-1]}", "campaigns.show", TIMES),
        )
        with serving(python, Path(name), "study") as port:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            return [_measure(connection, *page) for page in pages]


def _measure(connection: http.client.HTTPConnection, name: str, address: str, endpoint: str, times: int) -> PeerPage:
    milliseconds, size = [], 0
    for _ in range(times):
        begin = time.perf_counter()
        connection.request("GET", address)
        response = connection.getresponse()
        size = len(response.read())
        milliseconds.append((time.perf_counter() - begin) * 1000)
        if response.status != http.client.OK:
            raise RuntimeError(f"factgenie answered {address} with {response.status}")
    return PeerPage(name, statistics.median(milliseconds), size / 1000, endpoint)


def comparison(worst: Mapping[str, tuple[float, float]], measured: Sequence[PeerPage] = ()) -> str:
    """Return a table of factgenie's pages beside ours.

    Parameters
    ----------
    worst
        By endpoint, the milliseconds of our slowest and the kilobytes (uncompressed) of our largest page.
    measured
        What factgenie's pages cost about the same data; what was published otherwise.
    """
    whence = "about the same data" if measured else "measured before, see bench/README.md"
    lines = [f"| page | spanplat, slowest and largest | factgenie ({whence}) |", "|---|---|---|"]
    for page in measured or PUBLISHED:
        if page.endpoint in worst:
            took, size = worst[page.endpoint]
            theirs = f"{page.milliseconds:,.0f} ms" + ("" if page.kilobytes is None else f", {page.kilobytes:,.0f} KB")
            lines.append(f"| {page.name} | {took:,.0f} ms, {size:,.0f} KB | {theirs} |")
    return "\n".join(lines)
