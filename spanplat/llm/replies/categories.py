"""Lookup of the category, subcategory and severity that a model names."""

import re
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from spanplat.schemas.categories import Category, Named, Severity
from spanplat.schemas.slug import slugify

Entry = TypeVar("Entry", bound=Named)

_NUMBERED = re.compile(r"^\s*\d+\s*[.):]\s*")
_SEPARATORS = re.compile(r"\s*(?:/|:|>|→|–|—|\s-\s)\s*")
_NUMBER = re.compile(r"\d{1,9}")  # int() raises ValueError for more than 4,300 digits


class ResolvedCategory(NamedTuple):
    """A category with its subcategory, and the way in which the name was understood."""

    category: Category
    subcategory: str | None
    by: str
    """``name`` (or key), ``index``, or ``subcategory`` (if only that was named)."""


def find_category(
    categories: Sequence[Category], named: str, subcategory: str | None = None
) -> ResolvedCategory | None:
    """Find a category by its key, its name (ignoring case, punctuation and a leading number), or its index in the list, from 0.

    A category and its subcategory may be named together (``Accuracy/Addition``). A subcategory that only one category has names both.

    Returns
    -------
    ResolvedCategory or None
        None for an unknown category. An unknown subcategory is left out.
    """
    whole = _one_named(categories, named)
    if whole is not None:
        return ResolvedCategory(whole, _key(whole.subcategories, subcategory), "name")
    if _NUMBER.fullmatch(named.strip()):
        index = int(named)
        if index < len(categories):
            return ResolvedCategory(categories[index], _key(categories[index].subcategories, subcategory), "index")
        return None
    parts = _SEPARATORS.split(named, maxsplit=1)
    if len(parts) == 2 and (above := _one_named(categories, parts[0])):
        return ResolvedCategory(above, _key(above.subcategories, subcategory or parts[1]), "name")
    having = [category for category in categories if _one_named(category.subcategories, parts[-1])]
    if len(having) == 1:
        return ResolvedCategory(having[0], _key(having[0].subcategories, parts[-1]), "subcategory")
    return None


def find_severity(severities: Sequence[Severity], named: str) -> str | None:
    """Find a severity by its key or name, or by its number on the scale (1 is the mildest). Return None if there is none."""
    if (key := _key(severities, named)) is not None:
        return key
    number = named.strip()
    if _NUMBER.fullmatch(number) and 1 <= int(number) <= len(severities):
        return severities[int(number) - 1].key
    return None


def _key(entries: Sequence[Named], named: str | None) -> str | None:
    found = _one_named(entries, named) if named else None
    return found.key if found else None


def _one_named(entries: Sequence[Entry], named: str) -> Entry | None:
    # An exact name of any entry wins over a similar one.
    for exact in (True, False):
        for entry in entries:
            if exact and named.strip() in (entry.key, entry.name):
                return entry
            if not exact and _form(named) in (entry.key, slugify(entry.name)):
                return entry
    return None


def _form(named: str) -> str:
    return slugify(_NUMBERED.sub("", named.strip(" \t\n\"'`*_[]().")) or named)
