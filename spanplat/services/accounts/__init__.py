"""Accounts of staff: signing in, roles, tokens, invitations, second factors, and the audit log."""

from spanplat.services.accounts.audit import actor_names, log_event

__all__ = [
    "actor_names",
    "log_event",
]
