"""Table of screened-out participants: columns, searchable words, and download."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.services.crowd.check_report import ScreenedOut
from spanplat.web.sorted_tables import Column, SortedTable, time_column

SCREENED_OUT: SortedTable[ScreenedOut] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda person: person.pseudonym),
        "batch": Column(_("Batch"), lambda person: person.batch),
        "failed": Column(_("Failed checks"), lambda person: ", ".join(person.failed) or None),
        "came": time_column(_("Came"), lambda person: person.began_at),
    },
    lambda person: [person.pseudonym, str(person.batch), ", ".join(person.failed)],
)


def screened_out_file(people: Sequence[ScreenedOut]) -> Table:
    """Return the download of screened-out participants by pseudonym."""
    rows = [
        [
            person.pseudonym,
            person.batch,
            ", ".join(person.failed),
            person.began_at.isoformat() if person.began_at else None,
        ]
        for person in people
    ]
    return Table("screened-out", ["annotator", "batch", "failed", "came"], rows, "People who were screened out")
