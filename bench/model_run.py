"""Speed of a model campaign with a provider that answers after 200 ms, and correctness of its accounts when calls fail."""

import argparse
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Annotation, ClaimState, Completion, ModelClaim
from spanplat.services.model_work.running import RunReport, run_campaign
from tests.services.model_work.conftest import create_study, store_outputs
from tests.simulation.databases import KINDS, fresh_database, kinds_of
from tests.simulation.provider import KEY_VARIABLE, standin

LATENCY = 0.2
TROUBLE = {"429": 0.10, "500": 0.05, "hang": 0.02, "garbage": 0.02}
"""Shares of calls that fail, by kind of failure."""
TIMEOUT = 5.0
"""Seconds until a call that hangs is abandoned."""


@dataclass(frozen=True)
class Measured:
    """One run and its results."""

    seconds: float
    ideal: float
    """Seconds if only the provider needs time."""
    report: RunReport
    account: Mapping[str, Any]
    """Counts of the stand-in."""
    annotated: int
    failed: int
    """Number of items that failed with a reason."""
    stored_cost: float

    def contradictions(self, outputs: int) -> list[str]:
        """Return descriptions of all inconsistencies."""
        report, account = self.report, self.account
        billed = sum(account["answered"].values())
        expected = {
            "outputs annotated or failed": (self.annotated + self.failed, outputs),
            "failures the report tells of": (sum(report.failed.values()), self.failed),
            "calls": (report.calls, account["calls"]),
            "billed calls for one question at most": (max(account["answered"].values()), 1),
            "billed calls": (billed, self.annotated + report.failed.get(NO_ANSWER, 0)),
            "input tokens": (report.input_tokens, account["input_tokens"]),
            "output tokens": (report.output_tokens, account["output_tokens"]),
            "cost reported, in millionths": (_millionths(report.cost or 0.0), _millionths(account["cost"])),
            "cost stored, in millionths": (_millionths(self.stored_cost), _millionths(account["cost"])),
        }
        return [f"{what}: {found}, not {right}" for what, (found, right) in expected.items() if found != right]


NO_ANSWER = "the reply holds no JSON with a list of spans"


def measure(url: str, outputs: int, concurrency: int, trouble: Mapping[str, float]) -> Measured:
    """Run a new campaign over this number of outputs."""
    with standin(latency=LATENCY, **trouble) as server:
        database = Database(url)
        store_outputs(database, outputs)
        create_study(database, f"{server.url}/v1", timeout=TIMEOUT)
        run_campaign(database, "study", dry_run=True)
        _import_the_sdk()
        started = time.monotonic()
        report = run_campaign(database, "study", concurrency=concurrency)
        seconds = time.monotonic() - started
        with database.reading() as session:
            annotated = session.scalar(select(func.count()).select_from(Annotation)) or 0
            failed = select(func.count()).where(ModelClaim.state == ClaimState.FAILED, ModelClaim.error.is_not(None))
            measured = Measured(
                seconds,
                outputs * LATENCY / concurrency,
                report,
                server.account(),
                annotated,
                session.scalar(failed) or 0,
                session.scalar(select(func.sum(Completion.cost))) or 0.0,
            )
        database.dispose()
    return measured


def _import_the_sdk() -> None:
    """Load everything that a process loads once, so that it does not count in the measurement."""
    import openai.resources.chat  # noqa: F401, PLC0415


def _millionths(dollars: float) -> int:
    return round(dollars * 1e6)


def main() -> None:
    """Measure a run without failures and a run with failures, and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=1200)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--database", choices=(*KINDS, "both"), default="sqlite")
    parser.add_argument("--short", action="store_true", help="300 outputs")
    arguments = parser.parse_args()
    outputs = 300 if arguments.short else arguments.outputs
    os.environ.setdefault(KEY_VARIABLE, "any")
    wrong = False
    for kind in kinds_of(arguments.database):
        for name, trouble in (("no trouble", {}), ("trouble", TROUBLE)):
            with fresh_database(kind) as url:
                measured = measure(url, outputs, arguments.concurrency, trouble)
            print(
                f"{kind}, {name}: {outputs} outputs, {arguments.concurrency} at a time: {measured.seconds:.1f} s, "
                f"{measured.seconds / measured.ideal:.2f} times the ideal {measured.ideal:.1f} s; {measured.annotated} "
                f"annotated, {measured.failed} failed, {measured.report.calls} calls, {measured.account['billed']} billed"
            )
            for contradiction in measured.contradictions(outputs):
                wrong = True
                print(f"  contradiction in {contradiction}")
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
