"""Import a campaign and die by SIGKILL after so many write transactions: the process that test_import_kill.py starts."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.services.campaigns.importing import import_campaign


class MortalDatabase(Database):
    """A database whose process dies in the middle of its last write transaction."""

    def __init__(self, url: str, transactions: int) -> None:
        super().__init__(url)
        self._left = transactions

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Session]:
        """Give a session that may write; in the last one, die before the commit."""
        with super().transaction() as session:
            yield session
            session.flush()
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    url, transactions, campaign, outputs = sys.argv[1:]
    import_campaign(
        MortalDatabase(url, int(transactions)), Path(campaign), slug="study", format="factgenie", outputs=Path(outputs)
    )
