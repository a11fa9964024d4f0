"""What a reader yields in place of a line or a row it cannot read."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """A piece of a file that could not be read, kept as it was received."""

    file: Path
    line: int
    """Counted from 1; 0 when the file as a whole is meant."""
    reason: str
    raw: str = ""
    """The line or row as received; bytes that are not UTF-8 stand as ``\\xNN``."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else str(self.file)
        return f"{place}: {self.reason}"
