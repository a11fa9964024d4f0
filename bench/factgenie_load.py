"""The same load for factgenie on the same machine: the same number of annotators without pauses, each with ten items.

factgenie stores nothing before the end. Each of its annotators therefore sends 12 requests, and one of ours sends 44: the page, ten
items, and all annotations in one submission.
"""

import asyncio
import json
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.factgenie_serving import serving
from tests.simulation.http_client import Connection


@dataclass
class PeerOutcome:
    """Result of a measurement."""

    people: int
    seconds: float = 0.0
    requests: int = 0
    submitted: int = 0
    """Number of annotators with an acknowledged submission."""
    problems: list[str] = field(default_factory=list)

    @property
    def requests_per_second(self) -> float:
        """Answered requests per second."""
        return self.requests / self.seconds


def measure_factgenie(python: str, people: int, items: int) -> PeerOutcome:
    """Fill a campaign of factgenie.

    Parameters
    ----------
    python
        An interpreter that has factgenie 1.2.1.
    people
        Annotators at work at the same time; each takes one batch.
    items
        Outputs of a batch.
    """
    with (
        tempfile.TemporaryDirectory(prefix="spanplat-bench-factgenie-") as folder,
        serving(python, Path(folder), "load", str(people * items), str(items)) as port,
    ):
        return asyncio.run(_fill(port, people))


async def _fill(port: int, people: int) -> PeerOutcome:
    outcome = PeerOutcome(people)

    async def work(number: int) -> None:
        browser = Connection("127.0.0.1", port)
        await _annotate(browser, f"person-{number}", outcome)
        await browser.close()

    await (warm_up := Connection("127.0.0.1", port)).request("GET", "/annotate/load?PROLIFIC_PID=factgenie_preview")
    await warm_up.close()
    began = time.perf_counter()
    await asyncio.gather(*map(work, range(people)))
    outcome.seconds = time.perf_counter() - began
    return outcome


async def _annotate(browser: Connection, person: str, outcome: PeerOutcome) -> None:
    async def ask(method: str, path: str, body: bytes = b"") -> str:
        answer = await browser.request(method, path, body)
        outcome.requests += 1
        if answer.status != 200:
            outcome.problems.append(f"{method} {path}: {answer.status}")
        return answer.body.decode()

    page = await ask("GET", f"/annotate/load?PROLIFIC_PID={person}&STUDY_ID=bench&SESSION_ID={person}")
    if (found := re.search(r"window\.annotation_set = (\[.*?\]);?\n", page)) is None:
        outcome.problems.append(f"{person} was shown no batch")
        return
    annotation_set = json.loads(found[1])
    for entry in annotation_set:
        await ask("GET", f"/example?dataset=bench&split=test&setup_id=fir&example_idx={entry['example_idx']}")
        spans = [{"type": type_, "text": "phone", "start": 13, "reason": ""} for type_ in (0, 1)]
        entry |= {"annotations": spans, "flags": [], "options": [], "sliders": [], "textFields": []}
    work = {"campaign_id": "load", "annotator_id": person, "annotation_set": annotation_set}
    if json.loads(await ask("POST", "/submit_annotations", json.dumps(work).encode())).get("success"):
        outcome.submitted += 1
    else:
        outcome.problems.append(f"{person}'s annotations were not taken")
