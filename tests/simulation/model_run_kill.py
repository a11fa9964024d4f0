"""Kill workers of a model campaign with SIGKILL at random moments, and look for what is asked twice, missing or doubled."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from spanplat.db import Database
from spanplat.models import Annotation, Completion
from spanplat.services.model_work.running import run_campaign
from tests.services.model_work.conftest import create_study, store_outputs
from tests.simulation.provider import StandInProcess, standin
from tests.standin.wire import prompt_of

PROGRAM = Path(__file__).parents[1] / "durability" / "run_until_killed.py"
LATENCY = 0.2
CONCURRENCY = 32
LONGEST_ROUND = 0.6
"""Seconds between the first call of a round and the kill, at most."""
FIRST_CALL_WITHIN_SECONDS = 120


class Trial:
    """One campaign whose workers are killed again and again.

    Parameters
    ----------
    url
        Of a migrated database, in which a campaign is created.
    outputs
        How many it has.
    kills
        How many workers are killed.
    workers
        How many work at a time; the next is started beside those that live on.
    seed
        Makes the moments of the kills reproducible.
    """

    def __init__(self, url: str, *, outputs: int, kills: int, workers: int, seed: int) -> None:
        self._url, self._outputs, self._kills, self._workers = url, outputs, kills, workers
        self._random = random.Random(seed)
        self._database = Database(url)
        self._settled: dict[str, int] = {}
        """Prompts whose reply was stored when somebody looked, and how often they had been asked by then."""
        self.kills = 0
        self.calls = 0

    def run(self) -> list[str]:
        """Kill, run to the end, and say in words what is not as it must be."""
        with standin(latency=LATENCY) as server:
            store_outputs(self._database, self._outputs)
            create_study(self._database, f"{server.url}/v1")
            running: list[subprocess.Popen[bytes]] = []
            try:
                while self.kills < self._kills and self._stored(Annotation) < self._outputs:
                    running += [self._start() for _ in range(self._workers - len(running))]
                    self._wait_for_a_call(server)
                    time.sleep(self._random.uniform(0, LONGEST_ROUND))
                    self._kill(running.pop(self._random.randrange(len(running))))
                    self._settle(server)
            finally:
                for worker in running:
                    worker.kill()
                    worker.wait()
            run_campaign(self._database, "study", concurrency=CONCURRENCY)
            found = self._contradictions(server)
        self._database.dispose()
        return found

    def _start(self) -> "subprocess.Popen[bytes]":
        environment = os.environ | {"PYTHONPATH": str(PROGRAM.parents[2])}
        return subprocess.Popen(
            [sys.executable, str(PROGRAM), self._url, str(CONCURRENCY), "study"],
            env=environment,
            stdout=subprocess.DEVNULL,
        )

    def _kill(self, worker: "subprocess.Popen[bytes]") -> None:
        self.kills += worker.poll() is None
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def _wait_for_a_call(self, server: StandInProcess) -> None:
        before, deadline = server.account()["calls"], time.monotonic() + FIRST_CALL_WITHIN_SECONDS
        while server.account()["calls"] == before and self._stored(Annotation) < self._outputs:
            assert time.monotonic() < deadline, "no worker has asked anything"
            time.sleep(0.02)

    def _settle(self, server: StandInProcess) -> None:
        """Note what has been stored by now, and then how often each of it has been asked."""
        stored = self._stored_prompts()
        asked = server.account()["prompts"]
        self._settled = {prompt: asked[prompt] for prompt in stored} | self._settled

    def _contradictions(self, server: StandInProcess) -> list[str]:
        account = server.account()
        self.calls = account["calls"]
        again = sum(account["prompts"][prompt] > before for prompt, before in self._settled.items())
        doubled = sum(number > 1 for number in Counter(self._stored_prompts()).values())
        with self._database.reading() as session:
            pairs = select(Annotation.assignment_id, Annotation.item_id).distinct().subquery()
            distinct = session.scalar(select(func.count()).select_from(pairs)) or 0
        expected = {
            "outputs asked about again that had a stored reply": (again, 0),
            "outputs with an annotation": (distinct, self._outputs),
            "annotations": (self._stored(Annotation), self._outputs),
            "outputs with two stored replies": (doubled, 0),
        }
        return [f"{what}: {found}, not {right}" for what, (found, right) in expected.items() if found != right]

    def _stored(self, table: type) -> int:
        with self._database.reading() as session:
            return session.scalar(select(func.count()).select_from(table)) or 0

    def _stored_prompts(self) -> list[str]:
        with self._database.reading() as session:
            replies = select(Completion.request).where(Completion.response.is_not(None))
            return [prompt_of(request) for request in session.scalars(replies)]
