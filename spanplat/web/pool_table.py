"""The table of who is in a pool: its columns, the words to find by, and the file."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.services.pools import Member
from spanplat.web.names import service_name
from spanplat.web.sorted_tables import Column, SortedTable

MEMBERS: SortedTable[Member] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda member: member.pseudonym),
        "from": Column(_("From"), lambda member: service_name(member.source)),
        "qualification": Column(_("Qualification"), lambda member: member.campaign),
        "score": Column(_("Score"), lambda member: member.score, is_number=True, greatest_first=True),
        "since": Column(_("Since"), lambda member: member.added_at.isoformat(), greatest_first=True),
        "valid-until": Column(
            _("Valid until"),
            lambda member: member.expires_at.isoformat() if member.expires_at else None,
            greatest_first=True,
        ),
    },
    lambda member: [member.pseudonym, service_name(member.source), member.campaign or str(_("added by hand"))],
)


def members_file(members: Sequence[Member]) -> Table:
    """Return members by pseudonym as a table, scores in full precision."""
    columns = ["annotator", "from", "qualification", "score", "since", "valid_until"]
    rows = [
        [
            member.pseudonym,
            service_name(member.source),
            member.campaign,
            member.score,
            member.added_at.isoformat(),
            member.expires_at.isoformat() if member.expires_at else None,
        ]
        for member in members
    ]
    return Table("members", columns, rows, "Members of a pool")
