"""Configuration from the environment (``SPANPLAT_…``) and ``.env``; every setting has a safe default."""

import contextlib
import os
import secrets
import tempfile
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from pydantic import PositiveInt, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from spanplat.errors import InvalidInput


class Settings(BaseSettings):
    """Settings of an operator.

    Keys of model providers are not among them: the code that uses a key reads it from the environment and never stores it.
    """

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
    """Key that signs sessions; generated once and stored in the home by default."""
    require_second_factor: bool = False
    """Whether administrators have to set up a second factor before they do anything else."""

    arrivals_per_minute: PositiveInt = 120
    """Number of new people per minute from one network address, through open links."""

    model_hosts: str = ""
    """Model servers that definitions may name, as ``host`` or ``host:port``, separated by spaces; any by default."""

    @cached_property
    def database(self) -> str:
        """Return the database URL, with the dialect name of psycopg 3 for PostgreSQL."""
        if not self.database_url:
            return f"sqlite:///{self.home.resolve() / 'spanplat.sqlite3'}"
        # SQLAlchemy takes plain "postgresql://" for psycopg2, and does not know "postgres://", which hosts hand out.
        for prefix in ("postgresql://", "postgres://"):
            if self.database_url.startswith(prefix):
                return "postgresql+psycopg://" + self.database_url.removeprefix(prefix)
        return self.database_url

    @cached_property
    def redis(self) -> str:
        """Return the address of Redis; empty for none.

        Raises
        ------
        InvalidInput
            If there is one, but the package that speaks to Redis is not installed.
        """
        if self.redis_url and find_spec("redis") is None:
            raise InvalidInput(
                "SPANPLAT_REDIS_URL is set, but the client of Redis is not installed; install it with: pip install 'spanplat[redis]'"
            )
        return self.redis_url

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
        """Return the key that signs sessions, generating it into the home (mode 0600) on first use.

        Raises
        ------
        InvalidInput
            If the home cannot be created, or the key's file is empty.
        """
        if self.secret_key:
            return self.secret_key
        path = self.make_home() / "secret-key"
        if not path.exists():
            # A complete file is linked into place, so that a process that starts at the same moment never reads half a key.
            # The link fails if that process was first; its key then holds for both.
            descriptor, draft = tempfile.mkstemp(dir=self.home, prefix="secret-key-")  # mode 0600
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(48))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            Path(draft).unlink()
        key = path.read_text().strip()
        if not key:
            raise InvalidInput(f"{path} is empty; delete it, and a new key is made (everybody signs in again)")
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
    except UnicodeDecodeError as error:
        raise InvalidInput(".env is not UTF-8; save it as UTF-8") from error
