"""The first user, without whom nobody could sign in to a new database."""

from sqlalchemy import select

from spanplat.db import Database
from spanplat.models import Role, User
from spanplat.services.users import add_user


def add_first_user(database: Database, email: str) -> str | None:
    """Add an admin unless there are users already; return the password, which is known only now, or None."""
    with database.transaction() as session:
        if session.scalar(select(User.id).limit(1)) is not None:
            return None
        return add_user(session, email, Role.ADMIN)[1]
