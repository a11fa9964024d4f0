"""What the address of a page says, checked: the same address gives the same page again."""

from typing import Any, NamedTuple, Self

from flask import request
from pydantic import Field, ValidationError

from spanplat.errors import InvalidInput
from spanplat.schemas.base import Strict

MOST_PAGES = 1_000_000
"""Databases count rows in 64 bits; no list is as long as this."""


class AddressQuery(Strict):
    """The base of the queries of pages; a field that is a tuple may be given several times."""

    @classmethod
    def from_request(cls) -> Self:
        """Read the address; parameters that are not ours are ignored.

        Raises
        ------
        InvalidInput
            If a parameter has a value it cannot have.
        """
        lists = {name for name, field in cls.model_fields.items() if isinstance(field.default, tuple)}
        given: dict[str, Any] = {
            name: tuple(values) if name in lists else values[-1]
            for name, values in request.args.lists()
            if name in cls.model_fields and any(values)
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in error.errors())
            raise InvalidInput(f"the address asks for something that does not exist ({problems})") from error

    def arguments(self) -> dict[str, Any]:
        """Return what differs from the defaults, for a link."""
        return self.model_dump(exclude_defaults=True)


class PageQuery(AddressQuery):
    """What the address of a list says: which of its pages."""

    page: int = Field(default=1, ge=1, le=MOST_PAGES)


class Stretch(NamedTuple):
    """The part of a list that one page shows."""

    page: int
    pages: int
    first: int
    """Rows before it."""


def stretch_of(rows: int, per_page: int) -> Stretch:
    """Return which rows the page that the address asks for shows; the last page stands for those beyond it.

    Raises
    ------
    InvalidInput
        If the address asks for a page that no list has.
    """
    pages = max(1, -(-rows // per_page))
    page = min(PageQuery.from_request().page, pages)
    return Stretch(page, pages, (page - 1) * per_page)
