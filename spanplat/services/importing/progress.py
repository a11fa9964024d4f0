"""How long work tells how far it is."""

from typing import Protocol


class OnProgress(Protocol):
    """Called with how much is done, and of how much where that is known."""

    def __call__(self, done: int, total: int | None) -> None:
        """Take note of the progress."""
        ...


def ignore_progress(done: int, total: int | None) -> None:
    """Take no note."""
    del done, total
