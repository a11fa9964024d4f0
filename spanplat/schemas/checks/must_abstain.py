"""Must-abstain check: a text without errors."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from spanplat.schemas.checks.check import Check, CheckedWork, OutputReference, Verdict


class MustAbstainCheck(Check):
    """A text without errors: nothing may be marked."""

    kind_title: ClassVar[str] = "must abstain"
    role: ClassVar[Literal["attention"]] = "attention"
    parts: ClassVar[Mapping[str, str]] = {"abstained": "Abstained"}

    type: Literal["must_abstain"]
    item: OutputReference

    @property
    def carrier(self) -> OutputReference:
        """The text that carries the check."""
        return self.item

    def score(self, work: CheckedWork) -> Verdict:
        """Tell whether nothing is marked."""
        return Verdict(not work.spans, {"abstained": not work.spans, "spans": len(work.spans)})
