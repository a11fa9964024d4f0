"""Staff accounts on the command line."""

from pathlib import Path

import pyotp
import pytest

from spanplat.db import Database
from spanplat.services.accounts.second_factor import (
    begin_enrolment,
    confirm_enrolment,
    has_second_factor,
    open_enrolment,
)
from spanplat.services.accounts.users import find_user_by_address
from spanplat.settings import Settings
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("initialised")


def test_a_lost_second_factor_is_taken_away(run: Run, home: Path) -> None:
    password = run("user", "add", "ada@example.org", "--role", "admin").stdout.split()[-1]
    refused = run("user", "reset-second-factor", "ada@example.org", status=1)
    assert "ada@example.org has no second factor" in refused.stderr
    database = Database(Settings(home=home, _env_file=None).database)
    with database.transaction() as session:
        user = find_user_by_address(session, "ada@example.org")
        assert user is not None
        begin_enrolment(session, user.id, password)
        enrolment = open_enrolment(session, user.id)
        assert enrolment is not None
        confirm_enrolment(session, user.id, pyotp.TOTP(enrolment.secret).now())
    assert (
        "ada@example.org signs in with the password alone"
        in run("user", "reset-second-factor", "ADA@example.org").stdout
    )
    with database.reading() as session:
        assert not has_second_factor(session, user.id)
    database.dispose()
