"""What was read from a reply, as rows of the tables."""

from collections.abc import Mapping
from typing import Any

from spanplat.llm.replies import LocatedSpan, Reading


def span_values(span: LocatedSpan, position: int, categories: Mapping[str, int]) -> dict[str, Any]:
    """Return the columns of a span."""
    return {
        "position": position,
        "category_id": categories[span.category],
        "start_offset": span.start,
        "end_offset": span.end,
        "text": span.text,
        "side": span.side,
        "source_field": span.source_field,
        "subcategory": span.subcategory,
        "severity": span.severity,
        "reason": span.reason,
        "origin": span.origin,
    }


def unplaced_rows(reading: Reading, annotation_id: int, campaign_id: int) -> list[dict[str, Any]]:
    """Return what a reading could not place as rows."""
    return [
        {
            "campaign_id": campaign_id,
            "annotation_id": annotation_id,
            "kind": "span",
            "record": entry.record,
            "reason": entry.reason,
        }
        for entry in reading.unplaced
    ]
