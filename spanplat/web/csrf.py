"""Protection of forms against other sites: a token of the session in every form."""

from flask import request
from flask_wtf.csrf import CSRFProtect

BEARER = "Bearer "


def bearer_token() -> str | None:
    """Return the API token that a script shows in its ``Authorization`` header."""
    header = request.headers.get("Authorization", "")
    return header.removeprefix(BEARER) if header.startswith(BEARER) else None


class FormProtection(CSRFProtect):  # type: ignore[misc]
    """Ask forms for their token, but not scripts for one: no other site can make a browser send their header."""

    def protect(self, *, apply_exemptions: bool = False) -> None:
        """Refuse a form without the token of its page."""
        if bearer_token() is None:
            super().protect(apply_exemptions=apply_exemptions)
