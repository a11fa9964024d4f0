"""Protection of forms against requests of other sites (CSRF), with a token of the session in each form."""

from flask import request
from flask_wtf.csrf import CSRFProtect

BEARER = "Bearer "


def bearer_token() -> str | None:
    """Return the API token in the ``Authorization`` header, if there is one."""
    header = request.headers.get("Authorization", "")
    return header.removeprefix(BEARER) if header.startswith(BEARER) else None


class FormProtection(CSRFProtect):  # type: ignore[misc]
    """CSRF protection of forms. Requests with an API token need none: no other site can make a browser send that header."""

    def protect(self, *, apply_exemptions: bool = False) -> None:
        """Refuse a form without a valid token."""
        if bearer_token() is None:
            super().protect(apply_exemptions=apply_exemptions)
