"""Kill the server with SIGKILL at random moments of scripted annotations, and look whether anything acknowledged was lost.

Annotators enter, read, save and submit over HTTP as fast as the server answers. After each kill the server is started again; every
annotator must find the same seat and every acknowledged save with its exact spans and revision, and whatever was on its way may be
stored whole or not at all. It is then sent again and must be there once.
"""

import asyncio
import contextlib
import itertools
import time
from random import Random

from tests.simulation.annotators import Annotator, Ledger, Measurements, UnexpectedAnswerError
from tests.simulation.http_client import Connection
from tests.simulation.serving import Server
from tests.simulation.study import create_study
from tests.simulation.verification import find_losses

ANNOTATORS = 4
SAVES_PER_ITEM = 3
LONGEST_ROUND = 1.0
"""Seconds of work before a kill, at most."""
STARTED_WITHIN_SECONDS = 60


class Trial:
    """One server, killed again and again, and the people who work at it.

    Parameters
    ----------
    url
        URL of a migrated database, in which a study is created.
    kills
        How many times the server is killed.
    seed
        Makes the moments of the kills and the annotators' marks reproducible.
    """

    def __init__(self, url: str, *, kills: int, seed: int) -> None:
        self.measurements = Measurements()
        self.losses: list[str] = []
        """Contradictions between what was acknowledged and what is there, in words."""
        self.interrupted = 0
        """Saves and submissions that were on their way when the server was killed."""
        self._url, self._kills = url, kills
        self._random = Random(seed)
        self._numbers = itertools.count(1)
        self._annotators: list[Annotator] = []

    @property
    def acknowledged(self) -> int:
        """Saves acknowledged."""
        return len(self.measurements.seconds["save"])

    @property
    def submitted(self) -> int:
        """Batches submitted."""
        return len(self.measurements.seconds["submit"])

    def run(self) -> None:
        """Run the trial; what was lost stands in `losses`."""
        create_study(self._url, batches=20, per_output=10 * (self._kills + 1))
        with Server(self._url) as server:
            asyncio.run(self._kill_and_restart(server))

    async def _kill_and_restart(self, server: Server) -> None:
        browsers = [Connection("127.0.0.1", server.port) for _ in range(ANNOTATORS)]
        current = [self._arrive(browser) for browser in browsers]
        for _ in range(self._kills):
            work = asyncio.gather(*(self._work(current, place, browser) for place, browser in enumerate(browsers)))
            await self._first_save()
            await asyncio.sleep(self._random.uniform(0, LONGEST_ROUND))
            await asyncio.to_thread(server.kill)
            await work
            self._note_losses()
            self.interrupted += sum(_is_interrupted(annotator.ledger) for annotator in current)
            await asyncio.to_thread(server.start)
            self._note_losses()
        await asyncio.gather(*map(self._carry_on, current))
        self._note_losses()
        for browser in browsers:
            await browser.close()

    def _arrive(self, browser: Connection) -> Annotator:
        number = next(self._numbers)
        self._annotators.append(Annotator(f"person-{number}", browser, self.measurements, number))
        return self._annotators[-1]

    async def _work(self, current: list[Annotator], place: int, browser: Connection) -> None:
        """Finish the batch in hand, then let others take their turn, until the server is gone."""
        with contextlib.suppress(ConnectionError, UnexpectedAnswerError):  # the latter is among the measurements
            while True:
                await self._carry_on(current[place])
                current[place] = self._arrive(browser)

    async def _carry_on(self, annotator: Annotator) -> None:
        """Begin a batch, or go on with one after the server was killed, to its end."""
        ledger = annotator.ledger
        if not ledger.submission_attempted:
            await annotator.enter()
            for position in annotator.positions:
                await annotator.read(position)
                await annotator.repeat_save(position)
            for position in annotator.positions:
                while (done := annotator.saves(position)) < SAVES_PER_ITEM:
                    await annotator.save(position, "complete" if done == SAVES_PER_ITEM - 1 else "draft")
        await annotator.submit()

    async def _first_save(self) -> None:
        """Wait until a save is acknowledged, so that a kill meets the server at work and not still starting."""
        before = self.acknowledged
        deadline = time.monotonic() + STARTED_WITHIN_SECONDS
        while self.acknowledged == before:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no save was acknowledged after a start: {self.measurements.errors[-3:]}")
            await asyncio.sleep(0.002)

    def _note_losses(self) -> None:
        self.losses += find_losses(self._url, [annotator.ledger for annotator in self._annotators])


def _is_interrupted(ledger: Ledger) -> bool:
    return bool(ledger.attempted) or ledger.submission_attempted > ledger.submitted
