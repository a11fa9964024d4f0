"""How strong a password is, told while it is typed."""

from flask import render_template

from spanplat.services.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD, STRONGEST, strength_of


def strength_fragment(password: str) -> str:
    """Return the fragment that shows the strength of a password; nothing of it is stored."""
    return render_template(
        "_strength.html",
        typed=bool(password),
        strength=strength_of(password[:LONGEST_PASSWORD]),
        strongest=STRONGEST,
        shortest=SHORTEST_PASSWORD,
    )
