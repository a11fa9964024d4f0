"""Staff accounts."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.profiles import RFC_9106_LOW_MEMORY
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Role, User
from spanplat.services.accounts import passwords
from spanplat.services.accounts.passwords import hash_password
from spanplat.services.accounts.users import (
    add_user,
    authenticate,
    change_password,
    change_role,
    deactivate,
    reactivate,
    reset_password,
    sign_out_everywhere,
)
from tests.postgresql import is_waiting_for_a_lock


def test_a_new_user_signs_in_with_the_generated_password(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, " Ada@Example.org ", "researcher")
    with database.reading() as session:
        found = authenticate(session, "ada@example.ORG", password)
        assert found is not None
        assert (found.id, found.email, found.role) == (user.id, "ada@example.org", Role.RESEARCHER)
        assert authenticate(session, "ada@example.org", password + "x") is None
        assert authenticate(session, "bob@example.org", password) is None


def test_the_password_is_not_stored(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.ADMIN)
    assert user.password_hash.startswith("$argon2id$")
    assert password not in user.password_hash


def test_to_hash_a_password_costs_what_rfc_9106_recommends(password_hasher: PasswordHasher) -> None:
    cost = extract_parameters(password_hasher.hash("correct horse battery"))
    recommended = RFC_9106_LOW_MEMORY
    assert cost.type is recommended.type
    assert (cost.time_cost, cost.memory_cost, cost.parallelism) == (
        recommended.time_cost,
        recommended.memory_cost,
        recommended.parallelism,
    )


def test_one_password_is_stored_in_another_way_for_everybody() -> None:
    assert hash_password("correct horse battery") != hash_password("correct horse battery")


def test_an_unknown_address_takes_as_much_work_as_a_wrong_password(database: Database) -> None:
    with database.transaction() as session:
        user, _password = add_user(session, "ada@example.org", Role.ADMIN)
        compared = [passwords._nobodys_hash.cache_info()]
        for address in ("ada@example.org", "nobody@example.org"):
            assert authenticate(session, address, "a wrong password") is None
            compared.append(passwords._nobodys_hash.cache_info())
    before, wrong, unknown = (used.hits + used.misses for used in compared)
    assert (wrong - before, unknown - wrong) == (0, 1), "an unknown one is compared with nobody's hash"
    assert extract_parameters(passwords._nobodys_hash()) == extract_parameters(user.password_hash)


def test_two_users_cannot_share_an_address(database: Database) -> None:
    with database.transaction() as session:
        add_user(session, "ada@example.org", Role.ADMIN)
        with pytest.raises(Conflict, match=r"there is a user ada@example\.org already"):
            add_user(session, "ADA@example.org", Role.VIEWER)


@pytest.mark.parametrize("email", ["ada", "ada@", "@example.org", "a b@example.org", ""])
def test_what_is_not_an_address_is_refused(database: Database, email: str) -> None:
    with database.transaction() as session, pytest.raises(InvalidInput, match="not an email address"):
        add_user(session, email, Role.VIEWER)


def test_an_unknown_role_is_answered_with_those_there_are(database: Database) -> None:
    with database.transaction() as session, pytest.raises(InvalidInput, match="viewer, researcher, admin"):
        add_user(session, "ada@example.org", "root")


def test_a_new_password_replaces_the_old_one_and_ends_every_session(database: Database) -> None:
    with database.transaction() as session:
        user, old = add_user(session, "ada@example.org", Role.VIEWER)
        epoch = user.session_epoch
        new = reset_password(session, "ada@example.org")
    with database.reading() as session:
        assert authenticate(session, "ada@example.org", old) is None
        assert authenticate(session, "ada@example.org", new) is not None
        stored = session.get(User, user.id)
        assert stored is not None
        assert stored.session_epoch != epoch


def test_nobody_gets_a_password_who_is_no_user(database: Database) -> None:
    with database.transaction() as session, pytest.raises(NotFound, match="no user nobody@example"):
        reset_password(session, "nobody@example.org")


def test_a_closed_account_lets_nobody_in_until_it_is_opened_again(database: Database) -> None:
    with database.transaction() as session:
        add_user(session, "root@example.org", Role.ADMIN)
        user, password = add_user(session, "ada@example.org", Role.VIEWER)
        epoch = user.session_epoch
        deactivate(session, user.id)
        assert user.session_epoch != epoch
        assert authenticate(session, "ada@example.org", password) is None
        reactivate(session, user.id)
        assert authenticate(session, "ada@example.org", password) is not None


def test_the_last_administrator_stays_one(database: Database) -> None:
    with database.transaction() as session:
        root, _password = add_user(session, "root@example.org", Role.ADMIN)
        other, _password = add_user(session, "other@example.org", Role.ADMIN)
        deactivate(session, other.id)
        with pytest.raises(Conflict, match="only administrator"):
            change_role(session, root.id, Role.VIEWER)
        with pytest.raises(Conflict, match="only administrator"):
            deactivate(session, root.id)
        reactivate(session, other.id)
        assert change_role(session, root.id, Role.VIEWER).role == Role.VIEWER


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("act", [lambda session, user: change_role(session, user, Role.VIEWER), deactivate])
def test_two_administrators_who_remove_each_other_at_once_leave_one(
    database: Database, wait_until: Callable[[Callable[[], bool]], None], act: Callable[[Session, int], User]
) -> None:
    """On SQLite there is only one writer at a time."""
    with database.transaction() as session:
        one, other = (add_user(session, f"{name}@example.org", Role.ADMIN)[0].id for name in ("ada", "bob"))

    def remove(user_id: int) -> None:
        with database.transaction() as session:
            act(session, user_id)

    with ThreadPoolExecutor(1) as executor:
        with database.transaction() as session:
            act(session, other)
            second = executor.submit(remove, one)
            wait_until(lambda: second.done() or is_waiting_for_a_lock(database.engine))
        with pytest.raises(Conflict, match="only administrator"):
            second.result()


def test_a_chosen_password_needs_the_present_one_and_some_length(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.VIEWER)
        with pytest.raises(InvalidInput, match="present password is not right"):
            change_password(session, user.id, "wrong", "long enough, surely")
        with pytest.raises(InvalidInput, match="at least 12"):
            change_password(session, user.id, password, "short")
        with pytest.raises(InvalidInput, match="more than 128"):
            change_password(session, user.id, password, "x" * 129)
        change_password(session, user.id, password, "long enough, surely")
        assert authenticate(session, "ada@example.org", "long enough, surely") is not None


def test_a_password_may_hold_any_characters_and_counts_to_its_last(database: Database) -> None:
    chosen = "  пароль 密码 🔑 " + "x" * 100
    with database.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.VIEWER)
        change_password(session, user.id, password, chosen)
        assert authenticate(session, "ada@example.org", chosen) is not None
        assert authenticate(session, "ada@example.org", chosen[:-1]) is None
        assert authenticate(session, "ada@example.org", chosen.strip()) is None


def test_signing_out_everywhere_begins_a_new_epoch(database: Database) -> None:
    with database.transaction() as session:
        user, _password = add_user(session, "ada@example.org", Role.VIEWER)
        epoch = user.session_epoch
        assert sign_out_everywhere(session, user.id).session_epoch != epoch
