"""What a process remembers of databases."""

from collections.abc import Callable, Iterator

import pytest

from spanplat.db import Database
from spanplat.db.cache import DatabaseCache
from spanplat.models import Campaign, Category
from spanplat.services.campaigns.definitions import category_ids


@pytest.fixture
def both(make_sqlite: Callable[[], str]) -> Iterator[tuple[Database, Database]]:
    """Two databases that one process works with."""
    first, second = Database(make_sqlite()), Database(make_sqlite())
    yield first, second
    first.dispose()
    second.dispose()


def test_a_value_is_made_once_for_each_database(both: tuple[Database, Database]) -> None:
    kept: DatabaseCache[str, list[str]] = DatabaseCache(4)
    first, second = both
    with first.reading() as session, second.reading() as other:
        made = kept.find(session, "a", lambda: ["first"])
        assert kept.find(session, "a", lambda: ["again"]) is made
        assert kept.find(other, "a", lambda: ["second"]) == ["second"]
        assert kept.find(session, "a", lambda: ["again"]) is made
    with first.reading() as later:
        assert kept.find(later, "a", lambda: ["again"]) is made


def test_what_was_wanted_longest_ago_is_forgotten_first(both: tuple[Database, Database]) -> None:
    kept: DatabaseCache[str, str] = DatabaseCache(2)
    with both[0].reading() as session:
        for key in ("a", "b", "a", "c"):
            kept.find(session, key, lambda: "old")
        assert [kept.find(session, key, lambda: "new") for key in ("a", "c", "b")] == ["old", "old", "new"]


def test_an_empty_value_is_remembered_too(both: tuple[Database, Database]) -> None:
    kept: DatabaseCache[str, list[str]] = DatabaseCache(2)
    with both[0].reading() as session:
        empty = kept.find(session, "a", list)
        assert kept.find(session, "a", list) is empty


def test_categories_that_two_databases_number_differently_are_not_mixed_up(both: tuple[Database, Database]) -> None:
    digest = "0" * 64
    for database, number in zip(both, (1, 9), strict=True):
        with database.transaction() as session:
            session.add(
                Campaign(id=1, slug="c", title="C", kind="external", definition={}, definition_sha256=digest),
            )
            session.flush()
            session.add(Category(id=number, campaign_id=1, key="wrong", name="Wrong", color="#e69f00", position=0))
            session.flush()
            assert category_ids(session, 1, digest) == {"wrong": number}
