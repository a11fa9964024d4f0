"""``spanplat init`` and ``spanplat user``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from spanplat.db import Database
from spanplat.services.accounts.users import authenticate

from .conftest import Run

RunJson = Callable[..., Any]


def test_init_creates_a_database_that_only_its_owner_can_enter(run: Run, home: Path) -> None:
    assert run("init").stdout.startswith("Created sqlite:///")
    assert (home / "spanplat.sqlite3").exists()
    assert home.stat().st_mode & 0o077 == 0


def test_init_again_changes_nothing(run: Run, run_json: RunJson) -> None:
    first = run_json("init")
    assert first["before"] is None
    again = run_json("init")
    assert again["before"] == again["after"] == first["after"]
    assert "up to date" in run("init").stdout


def test_a_database_of_a_newer_version_is_left_alone(run: Run, home: Path) -> None:
    run("init")
    engine = create_engine(f"sqlite:///{home / 'spanplat.sqlite3'}")
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    for command in (["init"], ["campaign", "list"]):
        assert "newer spanplat" in run(*command, status=1).stderr


def test_init_works_on_postgresql(run: Run, postgresql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANPLAT_DATABASE_URL", postgresql_url)
    assert "up to date" in run("init").stdout
    assert run("campaign", "list").stderr.startswith("There is no campaign yet")


@pytest.mark.usefixtures("initialised")
def test_a_new_user_can_sign_in_with_the_password_shown(run: Run, home: Path) -> None:
    email, password = run("user", "add", "Me@Example.org", "--role", "researcher").stdout.split()
    database = Database(f"sqlite:///{home / 'spanplat.sqlite3'}")
    with database.reading() as session:
        user = authenticate(session, email, password)
    database.dispose()
    assert user is not None
    assert (user.email, user.role) == ("me@example.org", "researcher")


def test_init_adds_the_first_user_once(run: Run, run_json: RunJson) -> None:
    assert "Sign in with me@example.org" in run("init", "--admin", "me@example.org").stdout
    assert "users already" in run("init", "--admin", "me@example.org").stderr
    assert run_json("init", "--admin", "you@example.org")["user"] is None


@pytest.mark.usefixtures("initialised")
def test_a_user_is_added_once_and_may_get_a_new_password(run: Run, run_json: RunJson) -> None:
    first = run_json("user", "add", "me@example.org", "--role", "admin")["password"]
    assert "a user me@example.org already" in run("user", "add", "me@example.org", "--role", "admin", status=1).stderr
    assert run_json("user", "password", "me@example.org")["password"] != first
    assert "no user you@example.org" in run("user", "password", "you@example.org", status=1).stderr
