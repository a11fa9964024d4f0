"""Passwords: rules for new passwords, an estimate of their strength, and hashing."""

import secrets
import string
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from spanplat.errors import InvalidInput
from spanplat.text.counting import count_of

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 128
"""Maximum number of characters; hashing longer passwords would only cost the server time."""
STRONGEST = 4
"""The highest score of a password."""
LEAST_STRENGTH = 3
"""The lowest score of an allowed password; zxcvbn estimates that a hundred million guesses do not find it."""

_JUDGED = 32
"""Number of characters that are scored; more characters cannot make a password weaker, and would only cost the server time."""
# The defaults of argon2-cffi are the second recommendation of RFC 9106: Argon2id, 64 MiB of memory, three passes.
_HASHER = PasswordHasher()


@dataclass(frozen=True)
class Strength:
    """Estimated strength of a password."""

    score: int
    """Score from 0 (guessed at once) to `STRONGEST`."""
    is_short: bool
    """Whether the password is shorter than allowed."""
    advice: tuple[str, ...]
    """English sentences that say how to make it stronger."""


def hash_password(password: str) -> str:
    """Return the hash of a new password, for storage.

    Raises
    ------
    InvalidInput
        If it is too short, too long, or easy to guess.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise InvalidInput(
            f"the password has {count_of(len(password), 'character')}; choose one with at least {SHORTEST_PASSWORD}"
        )
    if len(password) > LONGEST_PASSWORD:
        raise InvalidInput(f"the password has more than {LONGEST_PASSWORD} characters; choose a shorter one")
    if is_easy_to_guess(password):
        raise InvalidInput(
            "this password is easy to guess; choose another one, for example a few words that have nothing to do with each other"
        )
    return _HASHER.hash(password)


def is_right_password(password: str, stored: str | None) -> bool:
    """Return whether a password matches a stored hash; without a hash the answer is False after the same time."""
    # Hashing a very long password would keep the server busy. One character more than the maximum is kept, so that a password that is
    # too long never equals a stored one.
    try:
        # An unknown address is compared with a hash that nothing matches, so that the time does not give it away.
        _HASHER.verify(stored or _nobodys_hash(), password[: LONGEST_PASSWORD + 1])
    except VerifyMismatchError:
        return False
    return stored is not None


def is_easy_to_guess(password: str) -> bool:
    """Return whether a password is common, or made of common passwords, names, dates, repeats or neighbouring keys."""
    return strength_of(password).score < LEAST_STRENGTH


def strength_of(password: str) -> Strength:
    """Estimate the strength of a password by the method of zxcvbn (Wheeler, USENIX Security 2016)."""
    from zxcvbn import zxcvbn  # noqa: PLC0415 (its word lists are read when they are needed)

    short = len(password) < SHORTEST_PASSWORD
    if not password:
        return Strength(0, short, ())
    found = zxcvbn(password[:_JUDGED])
    feedback = found["feedback"]
    advice = tuple(sentence for sentence in (feedback["warning"], *feedback["suggestions"]) if sentence)
    return Strength(found["score"], short, advice)


def generate_password() -> str:
    """Return a random password of 95 bits in letters and digits, short enough to type once and safe in every shell."""
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(16))


@cache
def _nobodys_hash() -> str:
    return _HASHER.hash(generate_password())
