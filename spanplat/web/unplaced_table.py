"""The table of what has no place in a campaign's data: its columns, the words to find by, and the file."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _
from sqlalchemy.orm import Session

from spanplat.formats.tables import Table
from spanplat.models import Campaign, Unplaced
from spanplat.services.progress import list_unplaced
from spanplat.web.address import stretch_of
from spanplat.web.sorted_tables import Column, Place, SortedTable, TableView

RECORDS_PER_PAGE = 50


def quote_of(record: Unplaced) -> str:
    """Return the text that a record marks; empty where it marks none."""
    return str(record.record.get("text") or "")


UNPLACED: SortedTable[Unplaced] = SortedTable(
    {
        "quote": Column(_("Quote"), lambda record: quote_of(record) or None),
        "what": Column(_("What"), lambda record: record.kind),
        "reason": Column(_("Reason"), lambda record: record.reason),
    },
    lambda record: [quote_of(record), record.kind, record.reason],
)


def view_unplaced(session: Session, campaign: Campaign, total: int) -> TableView[Unplaced]:
    """Return what the address asks to see of a campaign's unplaced records, of which there are so many.

    Only the page shown is read where they stand in their own order.
    """
    place = Place("campaigns.unplaced", {"slug": campaign.slug})
    query = UNPLACED.query()
    if not query.is_plain:
        return UNPLACED.view("records", place, list_unplaced(session, campaign, limit=None), RECORDS_PER_PAGE)
    shown = stretch_of(total, RECORDS_PER_PAGE)
    rows = list_unplaced(session, campaign, offset=shown.first, limit=RECORDS_PER_PAGE)
    return TableView("records", place, UNPLACED.columns, query, shown, rows, total, total)


def unplaced_file(records: Sequence[Unplaced]) -> Table:
    """Return unplaced records as a table."""
    rows = [[quote_of(record), record.kind, record.reason] for record in records]
    return Table("unplaced", ["quote", "what", "reason"], rows, "What has no place in the data")
