"""Creating and upgrading the database."""

import uuid
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, func, select, text

from spanplat.db import Database
from spanplat.db.schema import configuration, initialise, inspect_schema, require_current
from spanplat.errors import InvalidInput
from spanplat.models import Annotation, Campaign
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.datasets.browsing import BrowseFilter, find_outputs


def test_initialising_an_empty_database_creates_it_and_again_changes_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new.sqlite3'}")
    assert initialise(database).present is None
    assert inspect_schema(database).is_current
    assert initialise(database).is_current


def test_the_migrations_make_exactly_the_tables_of_the_models(database: Database) -> None:
    config = configuration()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.check(config)
    assert inspect_schema(database).is_current


def test_there_is_one_newest_migration() -> None:
    assert len(ScriptDirectory.from_config(configuration()).get_heads()) == 1


def test_every_migration_can_be_taken_back_and_made_again(database: Database) -> None:
    config = configuration()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        command.upgrade(config, "head")
        connection.commit()
    assert inspect_schema(database).is_current


FIRST_ROWS = (
    (
        "INSERT INTO campaign (id, slug, title, kind, status, definition, definition_sha256, created_at) "
        "VALUES (1, 'c', 'C', 'external', 'closed', "
        """'{"slug": "c", "title": "C", "kind": "external", "categories": [{"name": "A"}], "batches": {"tutorial": 2}}', """
        "'x', '2026-01-01')"
    ),
    "INSERT INTO batch (id, campaign_id, number) VALUES (1, 1, 1)",
    "INSERT INTO item (id, campaign_id, kind) VALUES (1, 1, 'output')",
    "INSERT INTO assignment (id, campaign_id, batch_id, slot, repeat, status, excluded) VALUES (1, 1, 1, 0, 0, 'open', false)",
    (
        "INSERT INTO annotation (id, assignment_id, item_id, status, revision, answers, late) "
        "VALUES (1, 1, 1, 'complete', 1, '{}', false)"
    ),
)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_upgrade_from_the_first_version_keeps_what_was_annotated(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'old.sqlite3'}")
    else:
        database = Database(request.getfixturevalue("postgresql_url"))
    config = configuration()
    with database.engine.connect() as connection:
        config.attributes["connection"] = connection
        if kind == "postgresql":
            command.downgrade(config, "0001")
        command.upgrade(config, "0001")
        for statement in FIRST_ROWS:
            connection.exec_driver_sql(statement)
        connection.commit()
    initialise(database)
    with database.reading() as session:
        assert session.scalar(select(func.count(Annotation.id))) == 1
        assert definition_of(session.scalars(select(Campaign)).one()).title == "C"
        if kind == "sqlite":
            assert session.scalar(text("PRAGMA foreign_keys")) == 1
            assert session.execute(text("PRAGMA foreign_key_check")).all() == []
    database.dispose()


def test_a_newer_database_is_refused_with_the_way_out(database: Database) -> None:
    with database.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    for refuse in (initialise, require_current):
        with pytest.raises(InvalidInput, match="made by a newer spanplat; install that version"):
            refuse(database)


def test_a_missing_database_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="spanplat init"):
        require_current(Database(f"sqlite:///{tmp_path / 'none.sqlite3'}"))


@pytest.mark.parametrize("url", ["mysql://localhost/x", "nonsense", "sqlite://", "sqlite:///:memory:"])
def test_an_address_that_is_no_supported_database_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"SPANPLAT_DATABASE_URL|not supported|SQLite needs a file"):
        Database(url)


def test_a_role_that_may_not_create_extensions_gets_a_database_that_searches_without_an_index(
    postgresql_server: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"spanplat_test_{uuid.uuid4().hex}"
    url = postgresql_server.url.set(database=name)
    with postgresql_server.connect() as connection:
        connection.exec_driver_sql(f'CREATE ROLE "{name}" LOGIN')
        connection.exec_driver_sql(f'CREATE DATABASE "{name}"')
    try:
        administrator = create_engine(url)
        with administrator.begin() as connection:
            connection.exec_driver_sql(f'GRANT ALL ON SCHEMA public TO "{name}"')
        administrator.dispose()
        database = Database(url.set(username=name).render_as_string(hide_password=False))
        initialise(database)
        with database.reading() as session:
            assert session.scalar(text("SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%_trgm'")) == 0
            assert find_outputs(session, BrowseFilter(search="anything")) == []
        assert inspect_schema(database).is_current
        database.dispose()
        assert "may not create the extension pg_trgm" in caplog.text
    finally:
        with postgresql_server.connect() as connection:
            connection.exec_driver_sql(f'DROP DATABASE "{name}" WITH (FORCE)')
            connection.exec_driver_sql(f'DROP ROLE "{name}"')
