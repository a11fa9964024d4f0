"""Progress callbacks for long work."""

from typing import Protocol


class OnProgress(Protocol):
    """Progress callback. It gets the amount of finished work and the total, or None if the total is not known."""

    def __call__(self, done: int, total: int | None) -> None:
        """Receive the progress."""
        ...


def ignore_progress(done: int, total: int | None) -> None:
    """Do nothing."""
    del done, total
