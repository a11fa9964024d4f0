"""Cost of importing all campaigns of the research data: seconds, peak memory, longest write transaction.

Each database gets a new process. Twelve campaigns of people and models annotate 3,000 texts written from data. SPANPLAT_TEST_DATA
names the folder; the default is a folder beside the checkout.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.services.campaigns.importing import import_campaign
from tests.simulation.databases import KINDS, fresh_database, kinds_of

DATA = Path(os.environ.get("SPANPLAT_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "d2t-eval"
MOST_SECONDS = 20.0
MOST_MEGABYTES = 300.0
LONGEST_TRANSACTION_MS = 100.0
SHORT_CAMPAIGNS = 2


@dataclass(frozen=True)
class Figures:
    """Cost of one import of all campaigns."""

    campaigns: int
    annotations: int
    spans: int
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    """Peak memory of the whole process, including Python and libraries."""
    transactions: int
    longest_transaction_ms: float
    """Time from getting the write lock to the end of the commit."""
    longest_without_commit_ms: float
    """The same time without the commit, which waits for the disk."""


class TimedDatabase(Database):
    """A database that records the duration of each write transaction."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.held: list[float] = []
        """Durations of write transactions in seconds, with the commit."""
        self.worked: list[float] = []
        """Durations in seconds, without the commit."""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session that may write, and record its duration."""
        began = ended = 0.0
        try:
            with super().transaction() as session:
                began = time.perf_counter()
                yield session
                session.flush()
                ended = time.perf_counter()
        finally:
            self.worked.append(ended - began)
            self.held.append(time.perf_counter() - began)


def campaign_folders(annotations: Path) -> dict[str, Path]:
    """Return the campaigns in a folder, by the slug for their import."""
    folders = sorted(file.parent for file in annotations.rglob("annotations.jsonl"))
    return {"-".join(folder.relative_to(annotations).parts): folder for folder in folders}


def import_everything(database: TimedDatabase, data: Path, most: int | None = None) -> Figures:
    """Import the campaigns of the research data with their texts and sources."""
    began, began_cpu = time.perf_counter(), time.process_time()
    annotations = spans = 0
    folders = list(campaign_folders(data / "annotations").items())[:most]
    for slug, folder in folders:
        report = import_campaign(
            database, folder, slug=slug, format="factgenie", outputs=data / "outputs", inputs=data / "inputs"
        )
        annotations += report.annotations
        spans += report.spans
    return Figures(
        campaigns=len(folders),
        annotations=annotations,
        spans=spans,
        seconds=time.perf_counter() - began,
        cpu_seconds=time.process_time() - began_cpu,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        transactions=len(database.held),
        longest_transaction_ms=max(database.held) * 1000,
        longest_without_commit_ms=max(database.worked) * 1000,
    )


def measure(kind: str, data: Path, most: int | None = None) -> Figures:
    """Import into a new database in a new process."""
    with fresh_database(kind) as url:
        command = [sys.executable, __file__, "--into", url, "--data", str(data)]
        done = subprocess.run([*command, *(["--short"] if most else [])], stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(done.stdout))


def _show(kind: str, figures: Figures) -> bool:
    print(
        f"{kind}: {figures.campaigns} campaigns, {figures.annotations} annotations, {figures.spans} spans\n"
        f"  {figures.seconds:.1f} s ({figures.cpu_seconds:.1f} s of processor time; aim {MOST_SECONDS:g}), "
        f"peak {figures.peak_megabytes:.0f} MB (aim {MOST_MEGABYTES:g})\n"
        f"  {figures.transactions} write transactions, the longest {figures.longest_transaction_ms:.0f} ms, "
        f"{figures.longest_without_commit_ms:.0f} ms without its commit (aim {LONGEST_TRANSACTION_MS:g}); "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    print(
        "| database | seconds | peak memory | longest write transaction |\n|---|---|---|---|\n"
        f"| {kind} | {figures.seconds:.1f} s | {figures.peak_megabytes:.0f} MB | {figures.longest_transaction_ms:.0f} ms |"
    )
    return figures.peak_megabytes < MOST_MEGABYTES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the research data (default: {DATA})")
    parser.add_argument("--short", action="store_true", help=f"the first {SHORT_CAMPAIGNS} campaigns only")
    parser.add_argument("--into", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    most = SHORT_CAMPAIGNS if options.short else None
    if options.into:
        database = TimedDatabase(options.into)
        print(json.dumps(asdict(import_everything(database, options.data, most))))
        database.dispose()
        return 0
    if not options.data.is_dir():
        print(f"there is no research data at {options.data}; name its folder with --data", file=sys.stderr)
        return 0
    shown = [_show(kind, measure(kind, options.data, most)) for kind in kinds_of(options.database)]
    return 0 if all(shown) else 1


if __name__ == "__main__":
    sys.exit(main())
