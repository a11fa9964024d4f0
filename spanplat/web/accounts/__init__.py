"""Pages of accounts: signing in, the team, tokens, second factors, the audit log."""

from flask import Flask

from spanplat.web.accounts import (
    account,
    audit,
    audit_names,
    invitations,
    second_factor,
    sign_in,
    team,
)

PAGES = (sign_in, account, second_factor, invitations, team, audit)
"""The modules with routes."""


def init_app(app: Flask) -> None:
    """Register what the pages of accounts need."""
    sign_in.init_app(app)
    audit_names.init_app(app)
