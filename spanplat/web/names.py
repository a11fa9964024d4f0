"""Names of states and kinds on the pages."""

from collections.abc import Mapping
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _

from spanplat.platforms import PLATFORMS
from spanplat.schemas.checks import CHECK_KINDS

KINDS: Mapping[str, Any] = {
    "human": _("People"),
    "llm": _("Model"),
    "qualification": _("Qualification"),
    "external": _("Imported"),
}

CAMPAIGN_STATES: Mapping[str, Any] = {
    "importing": _("Importing"),
    "draft": _("Draft"),
    "open": _("Open"),
    "paused": _("Paused"),
    "closed": _("Closed"),
}

SEAT_STATES: Mapping[str, Any] = {
    "open": _("open"),
    "held": _("held"),
    "submitted": _("submitted"),
    "accepted": _("accepted"),
}

ROLES: Mapping[str, Any] = {
    "viewer": _("viewer"),
    "researcher": _("researcher"),
    "admin": _("administrator"),
}

AUDITED: Mapping[str, Any] = {
    "campaign": _("campaigns"),
    "dataset": _("datasets"),
    "user": _("accounts"),
    "invitation": _("invitations"),
    "token": _("tokens"),
    "pool": _("pools"),
    "work": _("work"),
    "qualification": _("qualifications"),
}

NOTICES: Mapping[str, Any] = {
    "user.signed_in": _("a sign-in"),
    "user.password_changed": _("the password was changed"),
    "user.password_reset": _("a new password was given out"),
    "user.role_changed": _("the role was changed"),
    "user.signed_out_everywhere": _("every session was ended"),
    "user.deactivated": _("the account was closed"),
    "user.reactivated": _("the account was opened again"),
    "user.second_factor_on": _("the second factor was turned on"),
    "user.second_factor_off": _("the second factor was turned off"),
    "user.second_factor_reset": _("the second factor was taken away"),
    "user.recovery_codes_renewed": _("new recovery codes were made"),
    "user.recovery_code_used": _("a recovery code was used"),
    "token.made": _("a token for scripts was made"),
    "token.revoked": _("a token for scripts was revoked"),
}

PLACEMENT_RULES: Mapping[str, Any] = {
    "exact": _("word for word"),
    "ignoring-case": _("ignoring capitals"),
    "ignoring-space": _("ignoring white space"),
    "ignoring-case-and-space": _("ignoring capitals and white space"),
    "ignoring-typography": _("ignoring the kind of quotation marks and dashes"),
    "without its quotation marks": _("without the quotation marks around it"),
    "approximate": _("approximately"),
    "whole text": _("the whole text"),
    "order": _("in the order of mentions"),
    "context": _("by its context"),
    "occurrence": _("by the occurrence it names"),
    "first": _("on the first occurrence"),
    "unknown": _("by no rule on record"),
}


def rule_name(rule: str) -> str:
    """Return the name of the rule that placed a quote: how it was found, and how its place was chosen."""
    return ", ".join(str(PLACEMENT_RULES.get(part, part)) for part in rule.split(", "))


OUTCOMES: Mapping[str, Any] = {
    "completed": _("submitted"),
    "failed_attention": _("submitted, failed attention"),
    "screened_out": _("screened out"),
    "no_consent": _("did not agree"),
    "withdrawn": _("withdrew"),
    "failed_comprehension": _("failed the questions"),
    "working": _("working"),
    "lapsed": _("time ran out"),
    "entered": _("came in"),
}

CHECK_NAMES: Mapping[str, str] = {kind.kind(): kind.kind_title for kind in CHECK_KINDS}

CONSEQUENCES: Mapping[str, Any] = {
    "": _("not stated"),
    "note": _("noted"),
    "warn": _("warned"),
    "screen_out": _("screened out"),
    "withhold_bonus": _("bonus withheld"),
    "exclude": _("left out of figures"),
}

WEIGHTS: Mapping[str, Any] = {
    "refuse": _("not allowed"),
    "confirm": _("to be confirmed"),
    "advise": _("advice"),
}

SERVICES: Mapping[str, Any] = {platform.name: platform.title for platform in PLATFORMS} | {"model": _("a model")}


def service_name(source: str) -> str:
    """Return the name of the platform that an annotator comes from."""
    return str(SERVICES.get(source, source))


CHECK_PARTS: Mapping[str, str] = {part: title for kind in CHECK_KINDS for part, title in kind.parts.items()}


def init_app(app: Flask) -> None:
    """Give the names to the templates."""
    app.jinja_env.globals.update(
        kind_name=KINDS.__getitem__,
        status_name=CAMPAIGN_STATES.__getitem__,
        seat_name=SEAT_STATES.__getitem__,
        outcome_name=OUTCOMES.__getitem__,
        check_kind_name=CHECK_NAMES.get,
        consequence_name=CONSEQUENCES.__getitem__,
        weight_name=WEIGHTS.__getitem__,
        check_part_name=CHECK_PARTS.__getitem__,
        role_name=ROLES.__getitem__,
        thing_name=AUDITED.__getitem__,
        notice_name=NOTICES.__getitem__,
        rule_name=rule_name,
        service_name=service_name,
    )
