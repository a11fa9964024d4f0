"""Configuration from the environment (``SPANPLAT_…``) and ``.env``; every setting has a safe default."""

import os
import secrets
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from spanplat.errors import InvalidInput


class Settings(BaseSettings):
    """What an operator can set. Keys of model providers are not among them: they are read where they are used and kept nowhere."""

    model_config = SettingsConfigDict(
        env_prefix="SPANPLAT_", env_file=".env", extra="ignore", use_attribute_docstrings=True
    )

    home: Path = Path("spanplat-data")
    """Folder of the database, the queue and the secret key."""
    database_url: str = ""
    """SQLAlchemy URL; a SQLite file in the home by default."""
    redis_url: str = ""
    """Queue for background work; by default a SQLite file, or PostgreSQL beside a PostgreSQL database."""
    dask_scheduler: str = ""
    """Address of a Dask scheduler for heavy statistics; local processes by default."""
    base_url: str = ""
    """Public address, for links shown to annotators; taken from the request by default."""
    secret_key: str = ""
    """Signs sessions; generated once into the home by default."""

    @cached_property
    def database(self) -> str:
        """Return the database URL, with PostgreSQL spelt for psycopg 3."""
        if not self.database_url:
            return f"sqlite:///{self.home.resolve() / 'spanplat.sqlite3'}"
        for prefix in ("postgresql://", "postgres://"):
            if self.database_url.startswith(prefix):
                return "postgresql+psycopg://" + self.database_url.removeprefix(prefix)
        return self.database_url

    def make_home(self) -> Path:
        """Create the home folder, readable by its owner only, and return it.

        Raises
        ------
        InvalidInput
            If the folder cannot be created or is a file.
        """
        try:
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"the data folder {self.home} cannot be created ({error.strerror}); set SPANPLAT_HOME to a folder you may write to"
            ) from error
        return self.home

    def session_key(self) -> str:
        """Return the key that signs sessions, generating it into the home (mode 0600) on first use."""
        if self.secret_key:
            return self.secret_key
        path = self.make_home() / "secret-key"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_text().strip()
        with os.fdopen(descriptor, "w") as file:
            key = secrets.token_urlsafe(48)
            file.write(key)
        return key


def load_settings() -> Settings:
    """Read the settings.

    Raises
    ------
    InvalidInput
        If a setting has a value it cannot have.
    """
    try:
        return Settings()
    except ValidationError as error:
        problems = "\n".join(f"SPANPLAT_{str(p['loc'][0]).upper()}: {p['msg']}" for p in error.errors())
        raise InvalidInput(f"a setting is not valid:\n{problems}") from error
