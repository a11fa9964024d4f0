"""Staff accounts: adding users, and checking who signs in."""

import re
import secrets
import string
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Role, User

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_HASHER = PasswordHasher()


def add_user(session: Session, email: str, role: Role | str) -> tuple[User, str]:
    """Add a user with a generated password.

    Parameters
    ----------
    session
        A session that may write.
    email
        Address to sign in with; letter case does not matter.
    role
        What the user may do.

    Returns
    -------
    User
        The new user.
    str
        The password; only its hash is stored, so this is the one chance to show it.

    Raises
    ------
    InvalidInput
        If the address or the role is not one.
    Conflict
        If there is such a user already.
    """
    address = _address(email)
    if not _EMAIL.fullmatch(address):
        raise InvalidInput(f"{email!r} is not an email address; write name@host")
    try:
        role = Role(role)
    except ValueError as error:
        raise InvalidInput(f"there is no role {role!r}; choose one of {', '.join(Role)}") from error
    if _find(session, address) is not None:
        raise Conflict(f"there is a user {address} already; choose another address, or give them a new password")
    password = generate_password()
    user = User(email=address, role=role, password_hash=_HASHER.hash(password), session_epoch=_new_epoch())
    session.add(user)
    session.flush()
    return user, password


def reset_password(session: Session, email: str) -> str:
    """Give a user a new password, sign them out everywhere, and return the password.

    Raises
    ------
    NotFound
        If there is no such user.
    """
    user = _find(session, _address(email))
    if user is None:
        raise NotFound(f"there is no user {email}")
    password = generate_password()
    user.password_hash = _HASHER.hash(password)
    user.session_epoch = _new_epoch()
    session.flush()
    return password


def authenticate(session: Session, email: str, password: str) -> User | None:
    """Return the user with this address and password, or None.

    An unknown address costs as much work as a wrong password, so that nobody can tell the two apart by the time it takes.
    """
    user = _find(session, _address(email))
    try:
        _HASHER.verify(user.password_hash if user else _nobodys_hash(), password)
    except VerifyMismatchError:
        return None
    return user


def generate_password() -> str:
    """Return a random password of 95 bits in letters and digits, short enough to type once and safe in every shell."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(16))


def _address(email: str) -> str:
    return email.strip().lower()


def _find(session: Session, address: str) -> User | None:
    return session.scalar(select(User).where(User.email == address))


def _new_epoch() -> str:
    return secrets.token_urlsafe(9)


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash(generate_password())
