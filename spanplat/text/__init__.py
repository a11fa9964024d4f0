"""Text as spanplat stores it: cleaning at import, offsets in Unicode code points, and search for quotes.

Offsets are half-open and count Unicode code points of the stored text, as Python indexes a ``str``. Browsers count UTF-16 units. Only
:class:`OffsetIndex` and its JavaScript counterpart ``static/js/offsets.js`` convert between the two.
"""

from spanplat.text.cleaning import clean_text, plain_text, sha256_of
from spanplat.text.offsets import OffsetIndex, code_points_to_utf16, utf16_to_code_points
from spanplat.text.quotes import NotLocated, QuoteLocation, Rule, locate_quote, match_at, same_ignoring

__all__ = [
    "NotLocated",
    "OffsetIndex",
    "QuoteLocation",
    "Rule",
    "clean_text",
    "code_points_to_utf16",
    "locate_quote",
    "match_at",
    "plain_text",
    "same_ignoring",
    "sha256_of",
    "utf16_to_code_points",
]
