"""Problem: the value that a reader yields for a line or a row that it cannot read."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file that could not be read, as it was received."""

    file: Path
    line: int
    """Counted from 1; 0 for the file as a whole."""
    reason: str
    raw: str = ""
    """The line or row as received; bytes that are not UTF-8 are written as ``\\xNN``."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"
