"""The table of a campaign's batches: its columns, the words to find by, and the file."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _
from sqlalchemy.orm import Session

from spanplat.formats.tables import Table
from spanplat.models import Campaign
from spanplat.services.progress import BatchProgress, count_batches, list_batches
from spanplat.web.address import stretch_of
from spanplat.web.names import SEAT_STATES
from spanplat.web.sorted_tables import Column, Place, SortedTable, TableView

BATCHES_PER_PAGE = 100


def _seats(batch: BatchProgress) -> list[str]:
    """Name the states of a batch's seats; how many there are of each would be found by a batch's number."""
    names = [str(name) for status, name in SEAT_STATES.items() if batch.seats.get(status)]
    return [*names, str(_("given back or lapsed"))] if batch.replaced else names


BATCHES: SortedTable[BatchProgress] = SortedTable(
    {
        "batch": Column(_("Batch"), lambda batch: batch.number),
        "items": Column(_("Items"), lambda batch: batch.items, is_number=True, greatest_first=True),
        "annotations": Column(_("Annotations"), lambda batch: batch.done, greatest_first=True),
        "seats": Column(_("Seats"), lambda batch: ", ".join(_seats(batch))),
        "last-annotation": Column(
            _("Last annotation"),
            lambda batch: batch.last_event.isoformat() if batch.last_event else None,
            greatest_first=True,
            css="wide",
        ),
    },
    lambda batch: [str(batch.number), *_seats(batch)],
)


def view_batches(session: Session, campaign: Campaign) -> TableView[BatchProgress]:
    """Return what the address asks to see of a campaign's batches; only the page shown is read where they stand in their own order."""
    place = Place("campaigns.show", {"slug": campaign.slug})
    query = BATCHES.query()
    if not query.is_plain:
        return BATCHES.view("progress", place, list_batches(session, campaign), BATCHES_PER_PAGE)
    total = count_batches(session, campaign)
    shown = stretch_of(total, BATCHES_PER_PAGE)
    rows = list_batches(session, campaign, offset=shown.first, limit=BATCHES_PER_PAGE)
    return TableView("progress", place, BATCHES.columns, query, shown, rows, total, total)


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
