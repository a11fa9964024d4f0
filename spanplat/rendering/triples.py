"""Renderer of RDF triples: subject, property, object."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from spanplat.rendering.context import Record, RenderingContext, is_record, is_scalar
from spanplat.rendering.markup import element, join
from spanplat.rendering.tables import wrapped
from spanplat.rendering.text import scalar

_SHAPES = (
    ("subject", ("property", "predicate", "relation"), "object"),
    ("s", ("p",), "o"),
    ("head", ("relation", "type"), "tail"),
    ("subj", ("pred", "rel"), "obj"),
)
_FIELDS = ("triples", "tripleset", "triple", "triplets", "modifiedtripleset", "originaltripleset", "rdf", "facts", "kb")


class Triple(NamedTuple):
    """One statement."""

    subject: Any
    property: Any
    object: Any


def render_triples(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a list of triples as a table in which adjacent triples share their subject; return None for any other value."""
    triples = _triples(value, by_position=asked or context.name.casefold().replace("_", "") in _FIELDS)
    if not triples:
        return None
    words = context.words
    heads = (words.subject, words.property, words.object)
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    groups = [list(group) for _subject, group in groupby(triples, key=lambda triple: triple.subject)]
    body = join(_rows(group, context) for group in groups)
    return wrapped(element("thead", head), element("tbody", body), context=context, heads=heads)


def _rows(group: Sequence[Triple], context: RenderingContext) -> Markup:
    """Render the triples of one subject."""
    rowspan = len(group) if len(group) > 1 else None
    subject = element("th", scalar(group[0].subject, context), scope="rowgroup" if rowspan else "row", rowspan=rowspan)
    return join(
        element(
            "tr",
            subject if position == 0 else "",
            element("td", scalar(triple.property, context)),
            element("td", scalar(triple.object, context)),
        )
        for position, triple in enumerate(group)
    )


def _triples(value: Any, *, by_position: bool) -> list[Triple]:
    if not isinstance(value, list) or not value:
        return []
    # One triple without a list around it. Three texts with "|" are three triples.
    if by_position and len(value) == 3 and all(is_scalar(part) and "|" not in str(part) for part in value):
        return [Triple(*value)]
    found = [_triple(entry, by_position=by_position) for entry in value]
    return [triple for triple in found if triple is not None] if None not in found else []


def _triple(entry: Any, *, by_position: bool) -> Triple | None:
    if is_record(entry):
        return _triple_of_record(entry)
    # Three values could be any row, so their order counts only under a clear field name or on request.
    if isinstance(entry, list) and by_position and len(entry) == 3 and all(is_scalar(part) for part in entry):
        return Triple(*entry)
    if isinstance(entry, str) and entry.count(" | ") == 2:
        return Triple(*(part.strip() for part in entry.split(" | ")))
    return None


def _triple_of_record(record: Record) -> Triple | None:
    names = {name.casefold(): name for name in record}
    for subject, properties, object_ in _SHAPES:
        property_ = next((name for name in properties if name in names), None)
        if len(record) == 3 and property_ and subject in names and object_ in names:
            triple = Triple(record[names[subject]], record[names[property_]], record[names[object_]])
            return triple if all(is_scalar(part) for part in triple) else None
    return None
