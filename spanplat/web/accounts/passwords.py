"""Strength of a password, shown while it is typed."""

from flask import render_template

from spanplat.services.accounts.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD, STRONGEST, strength_of


def strength_fragment(password: str) -> str:
    """Return the fragment with the strength of a password; the password is not stored."""
    return render_template(
        "_strength.html",
        typed=bool(password),
        strength=strength_of(password[:LONGEST_PASSWORD]),
        strongest=STRONGEST,
        shortest=SHORTEST_PASSWORD,
    )
