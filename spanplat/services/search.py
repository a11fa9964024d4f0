"""Finding texts that contain something, ignoring case, and showing where.

Both databases keep an index of trigrams (migration 0013), so that any part of a word is found, in scripts without spaces too. What is
shorter than three characters cannot use it, and then every text is looked at.
"""

import re
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Select, column, false, func, inspect, literal, or_, select, table
from sqlalchemy.orm import InstrumentedAttribute, Session

from spanplat.models import Example, Output

SearchPlace = Literal["text", "source", "either"]

SHORTEST_INDEXED = 3
"""Code points; an index of trigrams knows nothing shorter."""
BEFORE_HIT = 60
"""Code points of an excerpt before its first hit."""
_IMPOSSIBLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class Stretch:
    """A part of an excerpt."""

    text: str
    is_hit: bool


def contains(session: Session, wanted: str, place: SearchPlace = "text") -> ColumnElement[bool]:
    """Return the condition that something contains what is wanted, whatever its case.

    Parameters
    ----------
    session
        Of the database that the condition is for.
    wanted
        What to look for; no character in it has a meaning of its own.
    place
        In the output's text, in a value of its example's source, or in either of them.
    """
    conditions = []
    if place != "source":
        conditions.append(_contains(session, wanted, Output.text, Output.id))
    if place != "text":
        conditions.append(_contains(session, wanted, Example.source_plain, Example.id))
    return or_(*conditions)


def excerpt(text: str, wanted: str, length: int) -> list[Stretch]:
    """Cut a text down to where it contains what is wanted.

    Parameters
    ----------
    text
        The whole text.
    wanted
        What was searched for; the text's beginning is returned when it is empty, or not there.
    length
        Code points of the excerpt, at most; an ellipsis stands on either side where something is left out.

    Returns
    -------
    list of Stretch
        Hits and what lies between them, in order.
    """
    pattern = re.compile(re.escape(wanted), re.IGNORECASE) if wanted else None
    first = pattern.search(text) if pattern else None
    begin = max(0, min(first.start() - BEFORE_HIT, len(text) - length)) if first else 0
    end = min(len(text), begin + length)
    stretches = [Stretch("… ", False)] if begin else []
    place = begin
    for hit in pattern.finditer(text, begin, end) if pattern else ():
        if hit.start() > place:
            stretches.append(Stretch(text[place : hit.start()], False))
        stretches.append(Stretch(hit.group(), True))
        place = hit.end()
    if place < end:
        stretches.append(Stretch(text[place:end], False))
    return [*stretches, *([Stretch(" …", False)] if end < len(text) else [])]


def excerpt_with_hit(text: str, wanted: str, length: int) -> list[Stretch]:
    """Cut a text down as `excerpt` does; return nothing where it does not contain what is wanted, or nothing is."""
    stretches = excerpt(text, wanted, length) if wanted else []
    return stretches if any(stretch.is_hit for stretch in stretches) else []


def _contains(
    session: Session, wanted: str, searched: InstrumentedAttribute[str], key: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    if _IMPOSSIBLE.search(wanted):
        return false()  # no stored text holds these, and the databases refuse them
    if session.get_bind().dialect.name != "sqlite":
        return searched.icontains(wanted, autoescape=True)
    index = f"{key.class_.__tablename__}_search"
    if len(wanted) < SHORTEST_INDEXED or not inspect(session.connection()).has_table(index):
        return func.contains_folded(searched, wanted.casefold()) == literal(1)
    phrase = '"{}"'.format(wanted.replace('"', '""'))
    rows: Select[int] = select(column("rowid")).select_from(table(index)).where(column(index).op("MATCH")(phrase))
    return key.in_(rows)
