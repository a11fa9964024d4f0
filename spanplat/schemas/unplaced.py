"""Records of an import or a model that cannot be placed in the data, with the reason."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class UnplacedRecord:
    """A record of an import or a model that cannot be placed, and the reason."""

    record: dict[str, Any]
    reason: str

    def row(self, campaign_id: int, kind: Literal["annotation", "span"], annotation_id: int | None) -> dict[str, Any]:
        """Return the columns of the table of unplaced records."""
        return {
            "campaign_id": campaign_id,
            "annotation_id": annotation_id,
            "kind": kind,
            "record": self.record,
            "reason": self.reason,
        }
