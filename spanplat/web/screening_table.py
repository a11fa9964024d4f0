"""The table of who was screened out of a campaign: its columns, the words to find by, and the file."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.services.check_report import ScreenedOut
from spanplat.web.sorted_tables import Column, SortedTable

SCREENED_OUT: SortedTable[ScreenedOut] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda person: person.pseudonym),
        "batch": Column(_("Batch"), lambda person: person.batch),
        "failed": Column(_("Failed checks"), lambda person: ", ".join(person.failed) or None),
        "came": Column(
            _("Came"),
            lambda person: person.began_at.isoformat() if person.began_at else None,
            greatest_first=True,
        ),
    },
    lambda person: [person.pseudonym, str(person.batch), ", ".join(person.failed)],
)


def screened_out_file(people: Sequence[ScreenedOut]) -> Table:
    """Return who was screened out by pseudonym as a table."""
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
