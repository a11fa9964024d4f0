"""Cost of the studio's pages: three times the outputs need no more SQL statements, and bytes are bounded."""

import re
from collections.abc import Callable
from pathlib import Path

from spanplat.db import Database
from tests.simulation.large_study import CAMPAIGNS, make_large_study
from tests.simulation.other_work import add_other_work
from tests.simulation.page_addresses import addresses_of, unknown_routes
from tests.simulation.studio import Studio, Visit, look_up_places

EXAMPLES = 8
"""Of the small study, with ten outputs each: more than the first page of a list shows."""
MOST_BYTES = 150_000
NO_PAGE = re.compile(r"/(charts?|table|figures\.json|export\.)")
"""In the addresses of files and charts, which have figures computed."""


def visits_of(url: str, home: Path, examples: int) -> dict[str, Visit]:
    """Look at every page of a study of this size, by endpoint; of several addresses of one the dearest counts."""
    database = Database(url)
    make_large_study(database, examples)
    add_other_work(database, examples)
    studio = Studio(database, home)
    places = look_up_places(database, home, CAMPAIGNS, ["battery"])
    assert unknown_routes(studio.app, places) == []
    dearest: dict[str, Visit] = {}
    with studio.serving() as connection:
        for page in addresses_of(studio.app, places):
            if NO_PAGE.search(page.address):
                continue
            visit = studio.visit(connection, page, fragment=False, times=1)
            known = dearest.get(page.endpoint)
            if visit.status == 200 and (known is None or visit.statements > known.statements):
                dearest[page.endpoint] = visit
    database.dispose()
    return dearest


def test_pages_of_a_study_three_times_as_large_ask_no_more_of_the_database(
    make_sqlite: Callable[[], str], tmp_path: Path
) -> None:
    small, large = (visits_of(make_sqlite(), tmp_path / f"{size}", size) for size in (EXAMPLES, 3 * EXAMPLES))
    assert {"browse.index", "browse.show", "campaigns.show", "crowd.people", "datasets.show"} <= small.keys()
    more = {
        endpoint: (small[endpoint].statements, large[endpoint].statements)
        for endpoint in small.keys() & large.keys()
        if large[endpoint].statements > small[endpoint].statements + 1  # of a list that fitted on one page before
    }
    assert more == {}
    assert {endpoint: visit.size for endpoint, visit in large.items() if visit.size > MOST_BYTES} == {}
