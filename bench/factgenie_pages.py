"""What factgenie's pages cost that do the work of pages of the studio.

factgenie 1.2.1 was measured on two cores with the public data of "LLMs as span annotators" loaded: 54 campaigns, 37,343 records,
64,573 spans. Milliseconds are medians, sizes are of the answer. Its pages were not measured again by these scripts.
"""

from collections.abc import Mapping
from typing import NamedTuple


class PeerPage(NamedTuple):
    """A page of factgenie, and the endpoint of ours that does the same."""

    name: str
    milliseconds: float
    kilobytes: float | None
    endpoint: str


PAGES = (
    PeerPage("one output with its annotations, index built", 19, None, "browse.show"),
    PeerPage("analysis of annotations and agreement", 507, 7634, "agreement.show"),
    PeerPage("overview of a campaign of people", 236, 1797, "campaigns.show"),
    PeerPage("overview of a campaign of models", 368, 1267, "campaigns.show"),
)


def comparison(worst: Mapping[str, tuple[float, float]]) -> str:
    """Return a table beside ours.

    Parameters
    ----------
    worst
        By endpoint, the milliseconds of our slowest and the kilobytes (uncompressed) of our largest page.
    """
    lines = [
        "| page | spanplat, slowest and largest | factgenie (measured before, see bench/README.md) |",
        "|---|---|---|",
    ]
    for page in PAGES:
        if page.endpoint in worst:
            took, size = worst[page.endpoint]
            theirs = f"{page.milliseconds:,.0f} ms" + ("" if page.kilobytes is None else f", {page.kilobytes:,.0f} KB")
            lines.append(f"| {page.name} | {took:,.0f} ms, {size:,.0f} KB | {theirs} |")
    return "\n".join(lines)
