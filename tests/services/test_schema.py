"""Creating and upgrading the database."""

from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.services.schema import configuration, initialise, inspect_schema, require_current


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
