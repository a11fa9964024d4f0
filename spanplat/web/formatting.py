"""How figures, counts and moments are written on the researcher's pages: template filters."""

import json
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from flask_babel import format_datetime, format_decimal, format_timedelta
from flask_babel import gettext as _

UNDEFINED = "–"


def init_app(app: Flask) -> None:
    """Make the filters known to the templates."""
    for write in (figure, decimal, count, percent, dollars, ago, moment, pretty_json):
        app.jinja_env.filters[write.__name__] = write


def figure(value: float | None) -> str:
    """Write a figure with three decimals, an undefined one as a dash."""
    return UNDEFINED if value is None else str(format_decimal(value, "0.000")).replace("-", "−")


def decimal(value: float | None) -> str:
    """Write a mean with two decimals."""
    return UNDEFINED if value is None else str(format_decimal(value, "#,##0.00"))


def count(value: int | None) -> str:
    """Write a whole number with separators between thousands."""
    return UNDEFINED if value is None else str(format_decimal(value, "#,##0"))


def percent(value: float | None) -> str:
    """Write a percentage (0 to 100) with one decimal."""
    return UNDEFINED if value is None else f"{format_decimal(value, '#,##0.0')}\u202f%"


def dollars(value: float | None) -> str:
    """Write an amount of US dollars."""
    return UNDEFINED if value is None else f"${format_decimal(value, '#,##0.00')}"


def ago(value: datetime | None) -> str:
    """Write how long ago a moment was, to the minute."""
    if value is None:
        return UNDEFINED
    passed = datetime.now(UTC) - value
    if passed.total_seconds() < 60:
        return str(_("just now"))
    return str(_("%(time)s ago", time=format_timedelta(passed, granularity="minute", threshold=1.2)))


def moment(value: datetime | None) -> str:
    """Write a moment in full, in UTC."""
    return (
        UNDEFINED
        if value is None
        else str(_("%(time)s UTC", time=format_datetime(value, "d MMM y, HH:mm", rebase=False)))
    )


def pretty_json(value: Any) -> str:
    """Write JSON for people."""
    return json.dumps(value, ensure_ascii=False, indent=2)
