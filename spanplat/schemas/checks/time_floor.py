"""Time floor: fails if an item was finished faster than anyone can read it."""

from typing import ClassVar, Literal

from pydantic import Field

from spanplat.schemas.checks.check import Check, CheckedWork, Verdict


class TimeFloorCheck(Check):
    """An item finished faster than anyone can read it."""

    kind_title: ClassVar[str] = "least time"
    looks_at_time: ClassVar[bool] = True

    type: Literal["min_seconds"]
    seconds: float = Field(gt=0)

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether the item took long enough; an item of unknown time passes."""
        return Verdict(work.seconds is None or work.seconds >= self.seconds, {"seconds": work.seconds})
