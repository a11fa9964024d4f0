"""Second factor of an account: codes of an authenticator app (TOTP, RFC 6238), and recovery codes in case the app is lost."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

import pyotp
from pyotp.utils import strings_equal
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import RecoveryCode, SecondFactor, User
from spanplat.services.accounts.audit import log_event
from spanplat.services.accounts.users import authenticate, begin_new_epoch, find_user, find_user_by_address

ISSUER = "spanplat"
STEP_SECONDS = 30
TOLERANCE = 1
"""Number of time steps by which the clock of a phone may be wrong, to either side (RFC 6238, 5.2)."""
RECOVERY_CODES = 10


@dataclass(frozen=True)
class Enrolment:
    """Key with which an app makes codes for an account."""

    secret: str
    """The key as text, to type into the app."""
    uri: str
    """The key as a URI, for a QR code."""


def has_second_factor(session: Session, user_id: int) -> bool:
    """Return whether signing in requires a code."""
    return confirmed_at(session, user_id) is not None


def confirmed_at(session: Session, user_id: int) -> datetime | None:
    """Return the time since which signing in requires a code, or None if it does not."""
    factor = _factor(session, user_id)
    return factor.confirmed_at if factor is not None else None


def recovery_codes_left(session: Session, user_id: int) -> int:
    """Count the unused recovery codes."""
    unused = RecoveryCode.user_id == user_id, RecoveryCode.used_at.is_(None)
    return session.scalar(select(func.count()).select_from(RecoveryCode).where(*unused)) or 0


def begin_enrolment(session: Session, user_id: int, password: str) -> None:
    """Create a key for an app; signing in requires no code until a first code of the app is confirmed.

    Raises
    ------
    InvalidInput
        If the password is wrong.
    Conflict
        If there is already a second factor.
    """
    user = _prove(session, user_id, password)
    factor = _factor(session, user_id)
    if factor is not None and factor.confirmed_at is not None:
        raise Conflict("the second factor is on already; turn it off before you set it up again")
    if factor is not None:
        session.delete(factor)
        # SQLAlchemy inserts before it deletes, and a user can have only one key.
        session.flush()
    session.add(SecondFactor(user_id=user.id, secret=pyotp.random_base32()))
    session.flush()


def open_enrolment(session: Session, user_id: int) -> Enrolment | None:
    """Return the key that is not confirmed yet, or None if there is none."""
    factor = _factor(session, user_id)
    if factor is None or factor.confirmed_at is not None:
        return None
    user = find_user(session, user_id)
    uri = pyotp.TOTP(factor.secret).provisioning_uri(name=user.email, issuer_name=ISSUER)
    return Enrolment(factor.secret, uri)


def confirm_enrolment(
    session: Session, user_id: int, code: str, *, at: datetime | None = None
) -> tuple[User, list[str]]:
    """Turn the second factor on with the first code of the app; every other session of the user ends.

    Parameters
    ----------
    session
        A session that may write.
    user_id
        Id of the user.
    code
        Code that the app shows.
    at
        Time of the attempt; now by default.

    Returns
    -------
    User
        The user, who needs a new session.
    list of str
        The recovery codes; only their digests are stored, so they can be shown only now.

    Raises
    ------
    InvalidInput
        If the code is wrong.
    Conflict
        If there is no key to confirm.
    """
    factor = _factor(session, user_id)
    if factor is None or factor.confirmed_at is not None:
        raise Conflict("there is no key to confirm; begin with setting up the second factor")
    if not _take_app_code(session, factor, _plain(code), at):
        raise InvalidInput("this is not the code that the app shows now; check that the clock of its phone is right")
    factor.confirmed_at = at or datetime.now(UTC)
    user = find_user(session, user_id)
    # Older sessions were opened without the second factor.
    begin_new_epoch(session, user)
    log_event(session, "user.second_factor_on", user.email)
    return user, _new_recovery_codes(session, user_id)


def take_code(session: Session, user_id: int, code: str, *, at: datetime | None = None) -> bool:
    """Return whether a code is right; a right code is used up by this call.

    A code of the app is valid in its time step of 30 seconds and in the steps before and after; a recovery code is valid until it is
    used. Spaces, hyphens and letter case do not matter.
    """
    factor, given = _factor(session, user_id), _plain(code)
    if factor is None or factor.confirmed_at is None:
        return False
    if _take_app_code(session, factor, given, at):
        return True
    # One conditional UPDATE, so that two requests at once cannot use the same recovery code.
    used = session.execute(
        update(RecoveryCode)
        .where(
            RecoveryCode.user_id == user_id, RecoveryCode.code_sha256 == _digest(given), RecoveryCode.used_at.is_(None)
        )
        .values(used_at=at or datetime.now(UTC))
    )
    if used.rowcount != 1:  # type: ignore[attr-defined]
        return False
    log_event(session, "user.recovery_code_used", find_user(session, user_id).email)
    return True


def renew_recovery_codes(session: Session, user_id: int, password: str) -> list[str]:
    """Create new recovery codes; the old ones become invalid.

    Raises
    ------
    InvalidInput
        If the password is wrong.
    Conflict
        If there is no second factor.
    """
    user = _prove(session, user_id, password)
    if not has_second_factor(session, user_id):
        raise Conflict("there is no second factor; set it up first")
    log_event(session, "user.recovery_codes_renewed", user.email)
    return _new_recovery_codes(session, user_id)


def turn_off(session: Session, user_id: int, password: str) -> None:
    """Remove the second factor and its recovery codes, also a factor that is not confirmed yet.

    Raises
    ------
    InvalidInput
        If the password is wrong.
    """
    user = _prove(session, user_id, password)
    if _remove(session, user_id):
        log_event(session, "user.second_factor_off", user.email)


def reset_second_factor(session: Session, email: str) -> User:
    """Remove the second factor of a user who lost it, and end all their sessions.

    Raises
    ------
    NotFound
        If there is no such user.
    Conflict
        If the user has no second factor.
    """
    user = find_user_by_address(session, email)
    if user is None:
        raise NotFound(f"there is no user {email}")
    if not _remove(session, user.id):
        raise Conflict(f"{user.email} has no second factor")
    begin_new_epoch(session, user)
    log_event(session, "user.second_factor_reset", user.email)
    return user


def _prove(session: Session, user_id: int, password: str) -> User:
    # The password is asked for again, so that a stolen session is not enough to change the second factor.
    user = find_user(session, user_id)
    if authenticate(session, user.email, password) is None:
        raise InvalidInput("the password is not right; nothing was changed")
    return user


def _factor(session: Session, user_id: int) -> SecondFactor | None:
    return session.scalar(select(SecondFactor).where(SecondFactor.user_id == user_id))


def _take_app_code(session: Session, factor: SecondFactor, code: str, at: datetime | None) -> bool:
    app = pyotp.TOTP(factor.secret, interval=STEP_SECONDS)
    now = int((at or datetime.now(UTC)).timestamp()) // STEP_SECONDS
    # `strings_equal` takes the same time for every wrong code.
    right = [
        step for step in range(now - TOLERANCE, now + TOLERANCE + 1) if strings_equal(app.generate_otp(step), code)
    ]
    if not right:
        return False
    # One conditional UPDATE, so that of two requests with the same code only one succeeds. Older steps are refused too: a code that
    # somebody has seen must not work after a newer one was used (RFC 6238, 5.2).
    taken = session.execute(
        update(SecondFactor)
        .where(SecondFactor.id == factor.id, SecondFactor.last_step < right[-1])
        .values(last_step=right[-1])
    )
    return bool(taken.rowcount == 1)  # type: ignore[attr-defined]


def _remove(session: Session, user_id: int) -> bool:
    """Delete the factor and the recovery codes, and return whether the factor was on."""
    was_on = has_second_factor(session, user_id)
    for table in (SecondFactor, RecoveryCode):
        session.execute(delete(table).where(table.user_id == user_id))
    return was_on


def _new_recovery_codes(session: Session, user_id: int) -> list[str]:
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    codes = [_generate_code() for _ in range(RECOVERY_CODES)]
    session.add_all(RecoveryCode(user_id=user_id, code_sha256=_digest(_plain(code))) for code in codes)
    session.flush()
    return codes


def _generate_code() -> str:
    """Return 80 random bits as four groups of letters and digits; too many bits to be guessed from a plain digest."""
    text = base64.b32encode(secrets.token_bytes(10)).decode()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").upper()


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
