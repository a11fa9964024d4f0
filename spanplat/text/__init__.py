"""Text as spanplat stores it: what import changes once, offsets in Unicode code points, and quotes found in a text.

Offsets are half-open, counted in Unicode code points over the stored text, which is how Python indexes a ``str``.
Browsers count UTF-16 units instead; :class:`OffsetIndex` and its JavaScript twin ``static/js/offsets.js`` are the only
places that convert between the two.
"""

from spanplat.text.cleaning import clean_text, plain_text, sha256_of
from spanplat.text.offsets import OffsetIndex, code_points_to_utf16, utf16_to_code_points
from spanplat.text.quotes import Located, NotLocated, Rule, locate_quote, match_at, same_ignoring

__all__ = [
    "Located",
    "NotLocated",
    "OffsetIndex",
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
