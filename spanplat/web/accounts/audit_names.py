"""Names of the audit log's entries on its page. The log itself and its file use their own words."""

import re
from collections.abc import Mapping
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _
from flask_babel import ngettext

from spanplat.web.definition_names import field_name

VERBS: Mapping[str, Any] = {
    "campaign.amended": _("amended the campaign"),
    "campaign.closed": _("closed the campaign"),
    "campaign.combined": _("combined annotations into the campaign"),
    "campaign.created": _("made the campaign"),
    "campaign.extended": _("extended the campaign"),
    "campaign.imported": _("imported the campaign"),
    "campaign.open": _("opened the campaign"),
    "campaign.paused": _("paused the campaign"),
    "campaign.reparsed": _("read the model’s replies anew"),
    "dataset.imported": _("imported the dataset"),
    "generation.created": _("set a generation of texts up"),
    "invitation.accepted": _("accepted the invitation"),
    "invitation.made": _("invited somebody"),
    "invitation.revoked": _("took the invitation back"),
    "pay.downloaded": _("downloaded the pay file"),
    "pool.downloaded": _("downloaded the pool"),
    "pool.members_added": _("added people to the pool"),
    "pool.members_removed": _("took people out of the pool"),
    "qualification.decided": _("stored who passed"),
    "study.created": _("set the prompt study up"),
    "token.made": _("made a token"),
    "token.revoked": _("revoked the token"),
    "user.added": _("made the account"),
    "user.deactivated": _("closed the account"),
    "user.password_changed": _("changed the password"),
    "user.password_reset": _("reset the password"),
    "user.reactivated": _("opened the account again"),
    "user.recovery_code_used": _("signed in with a recovery code"),
    "user.recovery_codes_renewed": _("renewed the recovery codes"),
    "user.role_changed": _("changed the role"),
    "user.second_factor_off": _("switched the second factor off"),
    "user.second_factor_on": _("switched the second factor on"),
    "user.second_factor_reset": _("reset the second factor"),
    "user.signed_in": _("signed in"),
    "user.signed_out_everywhere": _("ended all sessions"),
    "work.deleted": _("deleted somebody’s work"),
    "work.replaced": _("set somebody’s work aside"),
}

ACTORS: Mapping[str, Any] = {
    "cli": _("the command line"),
    "worker": _("the background worker"),
    "visitor": _("a visitor"),
    "somebody": _("not recorded"),
}

_REVISION = re.compile(r"[0-9a-f]{12,}(\.\d+)*")
"""Digest, or the state of a campaign's data, which begins with a digest."""
LONGEST_VALUE = 40
"""Maximum length of a detail's value. Longer values, such as digests, are complete in the file."""


def verb_name(verb: str) -> str:
    """Return the name of an action; an unknown one is returned unchanged."""
    return str(VERBS.get(verb, verb))


def actor_name(actor: str) -> str:
    """Return the name of an actor that is not an account."""
    return str(ACTORS.get(actor, actor))


def detail_text(value: Any, longest: int = LONGEST_VALUE) -> str:
    """Write the value of a detail for people, and shorten it if it is long; the file has the whole value."""
    text = _written(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _written(value: Any) -> str:
    """Write a pair of numbers as a change, settings by name, and a list of records as their number."""
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, bool):
        return str(_("yes") if value else _("no"))
    if isinstance(value, Mapping):
        return ", ".join(_setting(str(name), entry) for name, entry in value.items() if entry is not None)
    if not isinstance(value, list):
        return str(value)
    if value and all(isinstance(entry, Mapping) for entry in value):
        return str(ngettext("%(num)s entry", "%(num)s entries", len(value)))
    is_change = len(value) == 2 and all(isinstance(entry, int | float) for entry in value)
    return (" → " if is_change else ", ").join(_written(entry) for entry in value)


def _setting(name: str, value: Any) -> str:
    """Write a setting with its name; only the name if the value is a digest or a state of data."""
    if isinstance(value, str) and _REVISION.fullmatch(value):
        return name
    return f"{field_name(name).lower()} {_written(value)}"


def init_app(app: Flask) -> None:
    """Give the names to the templates."""
    app.jinja_env.globals.update(verb_name=verb_name, actor_name=actor_name)
    app.jinja_env.filters["detail_text"] = detail_text
