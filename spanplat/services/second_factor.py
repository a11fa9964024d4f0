"""The second factor of an account: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for when the app is lost."""

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
from spanplat.services.audit import log_event
from spanplat.services.users import authenticate, begin_new_epoch, find_user, find_user_by_address

ISSUER = "spanplat"
STEP_SECONDS = 30
TOLERANCE = 1
"""Steps by which the clock of a phone may be wrong, to either side (RFC 6238, 5.2)."""
RECOVERY_CODES = 10


@dataclass(frozen=True)
class Enrolment:
    """What an app needs to make codes for an account."""

    secret: str
    """For typing in."""
    uri: str
    """For a QR code."""


def has_second_factor(session: Session, user_id: int) -> bool:
    """Tell whether signing in takes a code."""
    return confirmed_at(session, user_id) is not None


def confirmed_at(session: Session, user_id: int) -> datetime | None:
    """Return since when signing in takes a code, or None if it does not."""
    factor = _factor(session, user_id)
    return factor.confirmed_at if factor is not None else None


def recovery_codes_left(session: Session, user_id: int) -> int:
    """Count the recovery codes that were not used."""
    unused = RecoveryCode.user_id == user_id, RecoveryCode.used_at.is_(None)
    return session.scalar(select(func.count()).select_from(RecoveryCode).where(*unused)) or 0


def begin_enrolment(session: Session, user_id: int, password: str) -> None:
    """Make a key for an app; signing in takes no code before one of the app's is confirmed.

    Raises
    ------
    InvalidInput
        If the password is wrong.
    Conflict
        If there is a second factor already.
    """
    user = _prove(session, user_id, password)
    factor = _factor(session, user_id)
    if factor is not None and factor.confirmed_at is not None:
        raise Conflict("the second factor is on already; turn it off before you set it up again")
    if factor is not None:
        session.delete(factor)
        session.flush()
    session.add(SecondFactor(user_id=user.id, secret=pyotp.random_base32()))
    session.flush()


def open_enrolment(session: Session, user_id: int) -> Enrolment | None:
    """Return the key that waits to be confirmed, or None if none does."""
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
        Whose.
    code
        What the app shows.
    at
        When; now by default.

    Returns
    -------
    User
        The user, whose new session may begin.
    list of str
        Recovery codes; only their digests are stored, so this is the one chance to show them.

    Raises
    ------
    InvalidInput
        If the code is not right.
    Conflict
        If no key waits to be confirmed.
    """
    factor = _factor(session, user_id)
    if factor is None or factor.confirmed_at is not None:
        raise Conflict("nothing waits to be confirmed; begin with setting the second factor up")
    if not _take_app_code(session, factor, _plain(code), at):
        raise InvalidInput("this is not the code that the app shows now; check that the clock of its phone is right")
    factor.confirmed_at = at or datetime.now(UTC)
    user = find_user(session, user_id)
    begin_new_epoch(session, user)
    log_event(session, "user.second_factor_on", user.email)
    return user, _new_recovery_codes(session, user_id)


def take_code(session: Session, user_id: int, code: str, *, at: datetime | None = None) -> bool:
    """Tell whether a code is right, and let nobody use it again.

    A code of the app is good for its 30 seconds and those beside them, a recovery code until it is used. Spaces, hyphens and letter
    case do not matter.
    """
    factor, given = _factor(session, user_id), _plain(code)
    if factor is None or factor.confirmed_at is None:
        return False
    if _take_app_code(session, factor, given, at):
        return True
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
    """Make new recovery codes; the old ones end.

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
    """Take the second factor away, with its recovery codes; one that waits to be confirmed is forgotten.

    Raises
    ------
    InvalidInput
        If the password is wrong.
    """
    user = _prove(session, user_id, password)
    if _remove(session, user_id):
        log_event(session, "user.second_factor_off", user.email)


def reset_second_factor(session: Session, email: str) -> User:
    """Take the second factor away from somebody who lost it, and sign them out everywhere.

    Raises
    ------
    NotFound
        If there is no such user.
    Conflict
        If the user has none.
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
    user = find_user(session, user_id)
    if authenticate(session, user.email, password) is None:
        raise InvalidInput("the password is not right; nothing was changed")
    return user


def _factor(session: Session, user_id: int) -> SecondFactor | None:
    return session.scalar(select(SecondFactor).where(SecondFactor.user_id == user_id))


def _take_app_code(session: Session, factor: SecondFactor, code: str, at: datetime | None) -> bool:
    app = pyotp.TOTP(factor.secret, interval=STEP_SECONDS)
    now = int((at or datetime.now(UTC)).timestamp()) // STEP_SECONDS
    right = [
        step for step in range(now - TOLERANCE, now + TOLERANCE + 1) if strings_equal(app.generate_otp(step), code)
    ]
    if not right:
        return False
    # One statement decides, so that of two requests with one code only one gets in.
    taken = session.execute(
        update(SecondFactor)
        .where(SecondFactor.id == factor.id, SecondFactor.last_step < right[-1])
        .values(last_step=right[-1])
    )
    return bool(taken.rowcount == 1)  # type: ignore[attr-defined]


def _remove(session: Session, user_id: int) -> bool:
    """Remove factor and codes, and tell whether the factor was on."""
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
    """Return 80 random bits in four groups: too many to be guessed from their digest."""
    text = base64.b32encode(secrets.token_bytes(10)).decode()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def _plain(code: str) -> str:
    return "".join(code.split()).replace("-", "").upper()


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
