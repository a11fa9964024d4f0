"""Tables of pools and of their members: columns, searchable words, and download."""

from collections.abc import Sequence

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.services.crowd.pools import Member, PoolSummary
from spanplat.web.names import service_name
from spanplat.web.sorted_tables import Column, SortedTable, number_column, time_column

POOLS: SortedTable[PoolSummary] = SortedTable(
    {
        "pool": Column(_("Pool"), lambda pool: pool.slug),
        "members": number_column(_("Members"), lambda pool: pool.members),
        "joined-by-passing": Column(_("Joined by passing"), lambda pool: ", ".join(pool.filled_by) or None),
        "required-by": Column(_("Required by"), lambda pool: ", ".join(pool.required_by) or None),
    }
)
MEMBERS: SortedTable[Member] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda member: member.pseudonym),
        "from": Column(_("From"), lambda member: service_name(member.source)),
        "qualification": Column(_("Qualification"), lambda member: member.campaign),
        "score": number_column(_("Score"), lambda member: member.score),
        "since": time_column(_("Since"), lambda member: member.added_at),
        "valid-until": time_column(_("Valid until"), lambda member: member.expires_at),
    },
    lambda member: [member.pseudonym, service_name(member.source), member.campaign or str(_("added by hand"))],
)


def members_file(members: Sequence[Member]) -> Table:
    """Return the download of members by pseudonym, with scores in full precision."""
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
