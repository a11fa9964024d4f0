"""Second factor: codes of an app, each valid once, and recovery codes in case the app is lost."""

import base64
from datetime import UTC, datetime, timedelta

import pyotp
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import RecoveryCode, Role, User
from spanplat.services.accounts.audit import list_events
from spanplat.services.accounts.second_factor import (
    begin_enrolment,
    confirm_enrolment,
    has_second_factor,
    open_enrolment,
    recovery_codes_left,
    renew_recovery_codes,
    reset_second_factor,
    take_code,
    turn_off,
)
from spanplat.services.accounts.users import add_user

NOW = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
STEP = timedelta(seconds=30)


def enrolled(session: Session) -> tuple[User, str, pyotp.TOTP, list[str]]:
    """Return a user with a second factor, their password, their app, and their recovery codes."""
    user, password = add_user(session, "ada@example.org", Role.ADMIN)
    begin_enrolment(session, user.id, password)
    enrolment = open_enrolment(session, user.id)
    assert enrolment is not None
    app = pyotp.parse_uri(enrolment.uri)
    assert isinstance(app, pyotp.TOTP)
    assert (app.secret, app.name, app.issuer) == (enrolment.secret, "ada@example.org", "spanplat")
    user, codes = confirm_enrolment(session, user.id, app.at(NOW), at=NOW)
    return user, password, app, codes


def test_signing_in_takes_a_code_once_one_was_confirmed(database: Database) -> None:
    with database.transaction() as session:
        user, password = add_user(session, "ada@example.org", Role.ADMIN)
        epoch = user.session_epoch
        with pytest.raises(Conflict, match="no key to confirm"):
            confirm_enrolment(session, user.id, "123456")
        with pytest.raises(InvalidInput, match="password is not right"):
            begin_enrolment(session, user.id, "wrong")
        begin_enrolment(session, user.id, password)
        first = open_enrolment(session, user.id)
        begin_enrolment(session, user.id, password)
        second = open_enrolment(session, user.id)
        assert first is not None
        assert second is not None
        assert first.secret != second.secret
        with pytest.raises(InvalidInput, match="not the code that the app shows"):
            confirm_enrolment(session, user.id, pyotp.TOTP(first.secret).at(NOW), at=NOW)
        assert not has_second_factor(session, user.id)
        confirm_enrolment(session, user.id, pyotp.TOTP(second.secret).at(NOW), at=NOW)
        assert has_second_factor(session, user.id)
        assert open_enrolment(session, user.id) is None
        assert user.session_epoch != epoch
        with pytest.raises(Conflict, match="on already"):
            begin_enrolment(session, user.id, password)


def test_a_code_of_the_app_is_good_once_and_for_a_moment(database: Database) -> None:
    with database.transaction() as session:
        user, _password, app, _codes = enrolled(session)
        assert not take_code(session, user.id, app.at(NOW), at=NOW), "it was used to set the factor up"
        later = NOW + 10 * STEP
        assert not take_code(session, user.id, app.at(later - 2 * STEP), at=later)
        assert not take_code(session, user.id, app.at(later + 2 * STEP), at=later)
        assert take_code(session, user.id, f" {app.at(later)[:3]} {app.at(later)[3:]}", at=later)
        assert not take_code(session, user.id, app.at(later), at=later)
        assert not take_code(session, user.id, app.at(later - STEP), at=later), "older than one that was used"
        assert take_code(session, user.id, app.at(later + STEP), at=later), "a clock that is half a minute ahead"
        assert not take_code(session, user.id, "", at=later)


def test_a_recovery_code_is_good_once_and_stored_as_a_digest(database: Database) -> None:
    with database.transaction() as session:
        user, password, _app, codes = enrolled(session)
        assert len(set(codes)) == recovery_codes_left(session, user.id) == 10
        assert {len(base64.b32decode(code.replace("-", ""))) * 8 for code in codes} == {80}
        assert take_code(session, user.id, codes[0].lower().replace("-", " "))
        assert not take_code(session, user.id, codes[0])
        assert recovery_codes_left(session, user.id) == 9
        stored = "".join(session.scalars(select(RecoveryCode.code_sha256)))
        assert not any(code in stored or code.replace("-", "") in stored for code in codes)
        with pytest.raises(InvalidInput, match="password is not right"):
            renew_recovery_codes(session, user.id, "wrong")
        renewed = renew_recovery_codes(session, user.id, password)
        assert not take_code(session, user.id, codes[1])
        assert take_code(session, user.id, renewed[1])


def test_codes_are_their_owners_alone(database: Database) -> None:
    with database.transaction() as session:
        _user, _password, app, codes = enrolled(session)
        other, password = add_user(session, "bob@example.org", Role.VIEWER)
        assert not take_code(session, other.id, codes[0])
        begin_enrolment(session, other.id, password)
        assert not take_code(session, other.id, app.at(NOW + STEP), at=NOW + STEP)
        with pytest.raises(Conflict, match="there is no second factor"):
            renew_recovery_codes(session, other.id, password)


def test_a_second_factor_is_turned_off_with_the_password_and_a_lost_one_reset(database: Database) -> None:
    with database.transaction() as session:
        user, password, _app, codes = enrolled(session)
        with pytest.raises(InvalidInput, match="password is not right"):
            turn_off(session, user.id, "wrong")
        turn_off(session, user.id, password)
        assert not has_second_factor(session, user.id)
        assert not take_code(session, user.id, codes[0])
        with pytest.raises(Conflict, match="has no second factor"):
            reset_second_factor(session, user.email)
        with pytest.raises(NotFound, match="no user nobody@example"):
            reset_second_factor(session, "nobody@example.org")
        with pytest.raises(InvalidInput, match="password is not right"):
            begin_enrolment(session, user.id, "wrong")
        begin_enrolment(session, user.id, password)
        enrolment = open_enrolment(session, user.id)
        assert enrolment is not None
        confirm_enrolment(session, user.id, pyotp.TOTP(enrolment.secret).at(NOW), at=NOW)
        epoch = user.session_epoch
        reset_second_factor(session, "ADA@example.org")
        assert (has_second_factor(session, user.id), user.session_epoch == epoch) == (False, False)
        verbs = [line.verb for line in list_events(session, subject="ada@example.org")]
        assert verbs[:4] == [
            "user.second_factor_reset",
            "user.second_factor_on",
            "user.second_factor_off",
            "user.second_factor_on",
        ]
