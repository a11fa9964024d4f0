"""Validated query parameters of pages: the same address always shows the same page."""

from typing import Any, NamedTuple, Self

from flask import request
from pydantic import Field, ValidationError

from spanplat.errors import InvalidInput
from spanplat.schemas.base import Strict

MOST_PAGES = 1_000_000
"""Upper limit of page numbers. A much larger number would overflow the 64-bit row offset of the database."""


class AddressQuery(Strict):
    """Base class of page queries. A field that is a tuple may occur several times in the address."""

    @classmethod
    def from_request(cls, prefix: str = "") -> Self:
        """Read the query of the current request; unknown parameters are ignored.

        Parameters
        ----------
        prefix
            Prefix of the parameter names, for pages with several queries.

        Raises
        ------
        InvalidInput
            If a parameter has an invalid value.
        """
        lists = {name for name, field in cls.model_fields.items() if isinstance(field.default, tuple)}
        given: dict[str, Any] = {
            name: tuple(values) if name in lists else values[-1]
            for name in cls.model_fields
            if any(values := request.args.getlist(prefix + name))
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in error.errors())
            raise InvalidInput(f"the address asks for something that does not exist ({problems})") from error

    def arguments(self) -> dict[str, Any]:
        """Return the values that differ from the defaults, for a link."""
        return self.model_dump(exclude_defaults=True)


class PageQuery(AddressQuery):
    """Query of a list: the number of its page."""

    page: int = Field(default=1, ge=1, le=MOST_PAGES)


class Page(NamedTuple):
    """The part of a list that one page shows."""

    page: int
    pages: int
    first: int
    """Number of rows before this page."""


def page_of(rows: int, per_page: int) -> Page:
    """Return the page that the address asks for; the last page if the number is too large.

    Raises
    ------
    InvalidInput
        If the number is not between 1 and `MOST_PAGES`.
    """
    pages = max(1, -(-rows // per_page))
    page = min(PageQuery.from_request().page, pages)
    return Page(page, pages, (page - 1) * per_page)
