"""The first user of a new database."""

from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Role, User
from spanplat.services.accounts.users import add_user


def add_first_user(database: Database, email: str) -> str | None:
    """Add an admin if there are no users yet.

    Returns
    -------
    str or None
        The password, which cannot be read later; None if there are users already.
    """
    with database.transaction() as session:
        if session.scalar(select(User.id).limit(1)) is not None:
            return None
        return add_user(session, email, Role.ADMIN)[1]
