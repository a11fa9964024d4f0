"""Table of a campaign's batches: columns, searchable words, and download."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _
from sqlalchemy.orm import Session

from spanplat.formats.tables import Table
from spanplat.models import Campaign
from spanplat.services.campaigns.progress import BatchProgress, count_batches, list_batches
from spanplat.web.address import page_of
from spanplat.web.names import SEAT_STATES
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, TableView, number_column, time_column

BATCHES_PER_PAGE = 100


def _seats(batch: BatchProgress) -> list[str]:
    """Return the names of the states of a batch's seats, without their numbers: a search for batch 3 must not find three seats."""
    names = [str(name) for status, name in SEAT_STATES.items() if batch.seats.get(status)]
    return [*names, str(_("given back or lapsed"))] if batch.replaced else names


BATCHES: SortedTable[BatchProgress] = SortedTable(
    {
        "batch": Column(_("Batch"), lambda batch: batch.number),
        "items": number_column(_("Items"), lambda batch: batch.items),
        "annotations": Column(_("Annotations"), lambda batch: batch.done, greatest_first=True),
        "seats": Column(_("Seats"), lambda batch: ", ".join(_seats(batch))),
        "last-annotation": time_column(_("Last annotation"), lambda batch: batch.last_event, css="wide"),
    },
    lambda batch: [str(batch.number), *_seats(batch)],
)


def view_batches(session: Session, campaign: Campaign) -> TableView[BatchProgress]:
    """Return the view of a campaign's batches. Without sorting and searching, only the shown page is read from the database."""
    place = TablePage("campaigns.show", {"slug": campaign.slug})
    query = BATCHES.query()
    if not query.is_plain:
        return BATCHES.view("progress", place, list_batches(session, campaign), BATCHES_PER_PAGE)
    total = count_batches(session, campaign)
    shown = page_of(total, BATCHES_PER_PAGE)
    rows = list_batches(session, campaign, offset=shown.first, limit=BATCHES_PER_PAGE)
    return TableView("progress", place, BATCHES.columns, query, shown, rows, total, total, "progress")


def batches_file(batches: Sequence[BatchProgress]) -> Table:
    """Return batches as a table."""
    columns = ["batch", "items", "done", "promised", *SEAT_STATES, "given_back_or_lapsed", "last_annotation"]
    rows = [
        [
            batch.number,
            batch.items,
            batch.done,
            batch.promised,
            *(batch.seats.get(status, 0) for status in SEAT_STATES),
            batch.replaced,
            batch.last_event.isoformat() if batch.last_event else None,
        ]
        for batch in batches
    ]
    return Table("batches", columns, rows, "Batches of a campaign")
