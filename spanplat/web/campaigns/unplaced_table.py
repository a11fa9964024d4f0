"""Tables of records without a place in a campaign's data, of the reasons, and of the placements of quotes."""

from collections.abc import Sequence

from flask_babel import gettext
from flask_babel import lazy_gettext as _
from sqlalchemy.orm import Session

from spanplat.formats.tables import Table
from spanplat.models import Campaign, Unplaced
from spanplat.services.campaigns.progress import list_unplaced
from spanplat.services.model_work.figures import Placements
from spanplat.web.address import page_of
from spanplat.web.names import rule_name
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, TableView, number_column

RECORDS_PER_PAGE = 50
MOST_REASONS = 30
"""Maximum number of reasons on the page, the most frequent first."""


def quote_of(record: Unplaced) -> str:
    """Return the text that a record marks; empty if it marks none."""
    return str(record.record.get("text") or "")


UNPLACED: SortedTable[Unplaced] = SortedTable(
    {
        "quote": Column(_("Quote"), lambda record: quote_of(record) or None),
        "what": Column(_("What"), lambda record: record.kind),
        "reason": Column(_("Reason"), lambda record: record.reason),
    },
    lambda record: [quote_of(record), record.kind, record.reason],
)


REASONS: SortedTable[tuple[str, str, int]] = SortedTable(
    {
        "reason": Column(_("Reason"), lambda row: row[1]),
        "what": Column(_("What"), lambda row: row[0]),
        "number": number_column(_("Number"), lambda row: row[2]),
    }
)
QUOTES: SortedTable[tuple[str, int]] = SortedTable(
    {
        "rule-or-reason": Column(_("Rule or reason"), lambda row: row[0]),
        "quotes": number_column(_("Quotes"), lambda row: row[1]),
        "share": number_column(_("Share"), lambda row: row[1]),
    }
)


def name_rules(placements: Placements) -> list[tuple[str, int]]:
    """Return the number of quotes by placement rule, and of unplaced quotes by reason."""
    return [
        *((rule_name(rule), number) for rule, number in placements.rules.items()),
        *((gettext("Not placed: %(reason)s", reason=reason), number) for reason, number in placements.reasons.items()),
    ]


def view_unplaced(session: Session, campaign: Campaign, total: int) -> TableView[Unplaced]:
    """Return the view of a campaign's unplaced records, ``total`` in number.

    Without sorting and searching, only the shown page is read from the database.
    """
    place = TablePage("campaigns.unplaced", {"slug": campaign.slug})
    query = UNPLACED.query()
    if not query.is_plain:
        return UNPLACED.view("records", place, list_unplaced(session, campaign, limit=None), RECORDS_PER_PAGE)
    shown = page_of(total, RECORDS_PER_PAGE)
    rows = list_unplaced(session, campaign, offset=shown.first, limit=RECORDS_PER_PAGE)
    return TableView("records", place, UNPLACED.columns, query, shown, rows, total, total, "records")


def unplaced_file(records: Sequence[Unplaced]) -> Table:
    """Return unplaced records as a table."""
    rows = [[quote_of(record), record.kind, record.reason] for record in records]
    return Table("unplaced", ["quote", "what", "reason"], rows, "What has no place in the data")
