"""Table of the results of each check."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _

from spanplat.services.crowd.check_report import CheckFigures
from spanplat.web.names import CHECK_NAMES, CHECK_PARTS, CONSEQUENCES
from spanplat.web.sorted_tables import Column, SortedTable, number_column


def check_table(parts: Sequence[str]) -> SortedTable[CheckFigures]:
    """Return the table with a column for each part of results, such as ``region_marked``."""
    return SortedTable(
        {
            "check": Column(_("Check"), lambda check: check.name),
            "kind": Column(_("Kind"), lambda check: CHECK_NAMES.get(check.kind, check.kind)),
            "when-failed": Column(_("When failed"), lambda check: str(CONSEQUENCES[check.on_fail])),
            "results": number_column(_("Results"), lambda check: check.results),
            "passed": number_column(_("Passed"), lambda check: check.rate),
            **{part.replace("_", "-"): _column_of(part) for part in parts},
            "mean-score": number_column(_("Mean score"), lambda check: check.mean_score),
        }
    )


def _column_of(part: str) -> Column[CheckFigures]:
    return number_column(
        CHECK_PARTS[part], lambda check: check.parts[part] / check.results if part in check.parts else None
    )
