"""Search for texts that contain a string, ignoring case, and excerpts with the hits.

Both databases have an index of trigrams (migration 0013), so that any part of a word is found, also in scripts without spaces. A
search for fewer than three characters cannot use the index and reads every text.
"""

import re
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Select, column, false, func, inspect, literal, or_, select, table
from sqlalchemy.orm import InstrumentedAttribute, Session

from spanplat.models import Example, Output
from spanplat.text.storable import find_unstorable_character

SearchPlace = Literal["text", "source", "either"]

SHORTEST_INDEXED = 3
"""Smallest number of code points that an index of trigrams can find."""
BEFORE_HIT = 60
"""Number of code points in an excerpt before its first hit."""


@dataclass(frozen=True)
class ExcerptPart:
    """Part of an excerpt, either a hit or the text beside one."""

    text: str
    is_hit: bool


def contains(session: Session, wanted: str, place: SearchPlace = "text") -> ColumnElement[bool]:
    """Return the condition that a text or source contains a string, ignoring case.

    Parameters
    ----------
    session
        A session of the database for which the condition is built.
    wanted
        The string to search for; no character in it has a special meaning.
    place
        Whether to search the output's text, the values of its example's source, or both.
    """
    conditions = []
    if place != "source":
        conditions.append(_contains(session, wanted, Output.text, Output.id))
    if place != "text":
        conditions.append(_contains(session, wanted, Example.source_plain, Example.id))
    return or_(*conditions)


def excerpt(text: str, wanted: str, length: int) -> list[ExcerptPart]:
    """Return an excerpt of a text around the first hit of a search.

    Parameters
    ----------
    text
        The whole text.
    wanted
        The string that was searched for; if it is empty or not in the text, the excerpt is the beginning of the text.
    length
        Maximum number of code points of the excerpt; an ellipsis marks each side on which something is left out.

    Returns
    -------
    list of ExcerptPart
        The hits and the text between them, in order.
    """
    pattern = re.compile(re.escape(wanted), re.IGNORECASE) if wanted else None
    first = pattern.search(text) if pattern else None
    begin = max(0, min(first.start() - BEFORE_HIT, len(text) - length)) if first else 0
    end = min(len(text), begin + length)
    parts = [ExcerptPart("… ", False)] if begin else []
    place = begin
    for hit in pattern.finditer(text, begin, end) if pattern else ():
        if hit.start() > place:
            parts.append(ExcerptPart(text[place : hit.start()], False))
        parts.append(ExcerptPart(hit.group(), True))
        place = hit.end()
    if place < end:
        parts.append(ExcerptPart(text[place:end], False))
    return [*parts, *([ExcerptPart(" …", False)] if end < len(text) else [])]


def excerpt_with_hit(text: str, wanted: str, length: int) -> list[ExcerptPart]:
    """Return an excerpt as `excerpt` does, but an empty list if there is no hit or nothing is searched for."""
    parts = excerpt(text, wanted, length) if wanted else []
    return parts if any(part.is_hit for part in parts) else []


def _contains(
    session: Session, wanted: str, searched: InstrumentedAttribute[str], key: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    if find_unstorable_character(wanted):
        return false()  # no stored text contains such a character, and a query with one would fail
    if session.get_bind().dialect.name != "sqlite":
        return searched.icontains(wanted, autoescape=True)
    index = f"{key.class_.__tablename__}_search"
    # An SQLite that was built without the trigram tokenizer has no index; see migration 0013.
    if len(wanted) < SHORTEST_INDEXED or not inspect(session.connection()).has_table(index):
        return func.contains_folded(searched, wanted.casefold()) == literal(1)
    # A quoted phrase, because FTS5 would read words such as AND or NEAR in a query as operators.
    phrase = '"{}"'.format(wanted.replace('"', '""'))
    rows: Select[int] = select(column("rowid")).select_from(table(index)).where(column(index).op("MATCH")(phrase))
    return key.in_(rows)
