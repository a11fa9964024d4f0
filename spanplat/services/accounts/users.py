"""Staff accounts: adding users, their roles and passwords, and checking passwords at sign-in."""

import re
import secrets
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Conflict, InvalidInput, NotFound
from spanplat.models import Role, User
from spanplat.services.accounts.audit import log_event
from spanplat.services.accounts.passwords import generate_password, hash_password, is_right_password

# Loose on purpose: the address is only a name to sign in with, because spanplat sends no mail.
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def add_user(session: Session, email: str, role: Role | str) -> tuple[User, str]:
    """Add a user with a generated password.

    Parameters
    ----------
    session
        A session that may write.
    email
        Address to sign in with; letter case does not matter.
    role
        Role of the user.

    Returns
    -------
    User
        The new user.
    str
        The password; only its hash is stored, so it can be shown only now.

    Raises
    ------
    InvalidInput
        If the address or the role is not valid.
    Conflict
        If there is already a user with this address.
    """
    password = generate_password()
    return add_user_with_password(session, email, role, password), password


def add_user_with_password(session: Session, email: str, role: Role | str, password: str) -> User:
    """Add a user with a password of their choice; raise as `add_user` does, and `InvalidInput` for a bad password."""
    address = require_address(email)
    role = require_role(role)
    if _find(session, address) is not None:
        raise Conflict(f"there is a user {address} already; choose another address, or give them a new password")
    user = User(email=address, role=role, password_hash=hash_password(password), session_epoch=_new_epoch())
    session.add(user)
    session.flush()
    log_event(session, "user.added", address, role=role)
    return user


def list_users(session: Session) -> list[User]:
    """Return all users, by address."""
    return list(session.scalars(select(User).order_by(User.email)))


def find_user(session: Session, user_id: int) -> User:
    """Return a user.

    Raises
    ------
    NotFound
        If there is none with this id.
    """
    user = session.get(User, user_id)
    if user is None:
        raise NotFound(f"there is no user number {user_id}")
    return user


def reset_password(session: Session, email: str) -> str:
    """Set a new random password for a user, end all their sessions, and return the password.

    Raises
    ------
    NotFound
        If there is no such user.
    """
    user = _find(session, _address(email))
    if user is None:
        raise NotFound(f"there is no user {email}")
    password = generate_password()
    _set_password(session, user, password)
    log_event(session, "user.password_reset", user.email)
    return password


def change_password(session: Session, user_id: int, present: str, new: str) -> User:
    """Change the password of a user; all their other sessions end.

    Raises
    ------
    InvalidInput
        If the present password is wrong, or the new one too short, too long or easy to guess.
    """
    # The present password is needed, so that a stolen session is not enough to take over the account.
    user = find_user(session, user_id)
    if authenticate(session, user.email, present) is None:
        raise InvalidInput("the present password is not right; nothing was changed")
    _set_password(session, user, new)
    log_event(session, "user.password_changed", user.email)
    return user


def change_role(session: Session, user_id: int, role: Role | str) -> User:
    """Change the role of a user; it applies from their next request on.

    Raises
    ------
    InvalidInput
        If there is no such role.
    Conflict
        If the user is the last administrator.
    """
    user, role = find_user(session, user_id), require_role(role)
    if user.role == role:
        return user
    if user.role == Role.ADMIN:
        _require_another_admin(session, user)
    log_event(session, "user.role_changed", user.email, before=user.role, after=role)
    user.role = role
    session.flush()
    return user


def deactivate(session: Session, user_id: int) -> User:
    """Close an account: nobody can sign in with it, and its sessions and tokens end; its past actions keep the user's name.

    Raises
    ------
    Conflict
        If it belongs to the last administrator.
    """
    user = find_user(session, user_id)
    if user.deactivated_at is None:
        _require_another_admin(session, user)
        user.deactivated_at = datetime.now(UTC)
        # This ends the sessions. `find_token` refuses the tokens of closed accounts.
        user.session_epoch = _new_epoch()
        log_event(session, "user.deactivated", user.email)
        session.flush()
    return user


def reactivate(session: Session, user_id: int) -> User:
    """Reopen a closed account with its old password."""
    user = find_user(session, user_id)
    if user.deactivated_at is not None:
        # No old session comes back with the account: closing it began a new epoch.
        user.deactivated_at = None
        log_event(session, "user.reactivated", user.email)
        session.flush()
    return user


def sign_out_everywhere(session: Session, user_id: int) -> User:
    """End every session of a user."""
    user = find_user(session, user_id)
    begin_new_epoch(session, user)
    log_event(session, "user.signed_out_everywhere", user.email)
    return user


def begin_new_epoch(session: Session, user: User) -> None:
    """End every session of a user, as part of a change that the caller logs."""
    user.session_epoch = _new_epoch()
    session.flush()


def authenticate(session: Session, email: str, password: str) -> User | None:
    """Return the user with this address and password, or None; a closed account counts as a wrong password.

    An unknown address takes as long as a wrong password, so that the response time does not reveal which addresses have an account.
    """
    user = _find(session, _address(email))
    is_right = is_right_password(password, user.password_hash if user else None)
    return user if user is not None and is_right and user.deactivated_at is None else None


def require_address(email: str) -> str:
    """Return an email address in the form in which it is stored.

    Raises
    ------
    InvalidInput
        If it is not a valid address.
    """
    address = _address(email)
    if not _EMAIL.fullmatch(address):
        raise InvalidInput(f"{email!r} is not an email address; write name@host")
    return address


def require_role(role: str) -> Role:
    """Return the role of this name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    try:
        return Role(role)
    except ValueError as error:
        raise InvalidInput(f"there is no role {role!r}; choose one of {', '.join(Role)}") from error


def find_user_by_address(session: Session, address: str) -> User | None:
    """Return the user with this address, or None."""
    return _find(session, _address(address))


def _require_another_admin(session: Session, user: User) -> None:
    if user.role != Role.ADMIN:
        return
    active = User.role == Role.ADMIN, User.deactivated_at.is_(None)
    # Locked, the own row too, because two administrators may remove each other at once: the second waits, and then finds no other.
    locked = select(User.id).where(*active).order_by(User.id).with_for_update(key_share=True)
    if all(administrator == user.id for administrator in session.scalars(locked)):
        raise Conflict(f"{user.email} is the only administrator; make another user an administrator first")


def _set_password(session: Session, user: User, password: str) -> None:
    user.password_hash = hash_password(password)
    begin_new_epoch(session, user)


def _address(email: str) -> str:
    return email.strip().lower()


def _find(session: Session, address: str) -> User | None:
    return session.scalar(select(User).where(User.email == address))


def _new_epoch() -> str:
    return secrets.token_urlsafe(9)
