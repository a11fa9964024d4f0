"""What states and kinds are called on the pages."""

from collections.abc import Mapping
from typing import Any

from flask import Flask
from flask_babel import lazy_gettext as _

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


def init_app(app: Flask) -> None:
    """Make the names known to the templates."""
    app.jinja_env.globals.update(
        kind_name=KINDS.__getitem__,
        status_name=CAMPAIGN_STATES.__getitem__,
        seat_name=SEAT_STATES.__getitem__,
    )
