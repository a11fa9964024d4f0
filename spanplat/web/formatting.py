"""Template filters that format numbers, amounts and times on the researcher's pages."""

import json
from datetime import UTC, datetime
from typing import Any

from babel import dates
from flask import Flask
from flask_babel import format_datetime, format_decimal, format_timedelta, get_locale
from flask_babel import gettext as _

UNDEFINED = "–"


def init_app(app: Flask) -> None:
    """Register the filters."""
    for write in (figure, decimal, count, percent, dollars, money, ago, lasting, moment, pretty_json):
        app.jinja_env.filters[write.__name__] = write


def figure(value: float | None) -> str:
    """Write a figure with three decimals; None as a dash."""
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
    """Write an amount of US dollars. Small amounts have four decimals, because $0.00 would look free."""
    if value is None:
        return UNDEFINED
    if 0 < value < 0.0001:
        return f"< ${format_decimal(0.0001, '0.0000')}"
    return f"${format_decimal(value, '0.0000' if 0 < value < 0.1 else '#,##0.00')}"


def money(value: float | None, currency: str) -> str:
    """Write an amount in a currency, ``USD``, ``GBP`` or ``EUR``, as `dollars` are written."""
    return dollars(value).replace("$", {"GBP": "£", "EUR": "€"}.get(currency, "$"))


def ago(value: datetime | None) -> str:
    """Write how long ago a time was, to the minute."""
    if value is None:
        return UNDEFINED
    passed = datetime.now(UTC) - value
    if passed.total_seconds() < 60:
        return str(_("just now"))
    return str(_("%(time)s ago", time=format_timedelta(passed, granularity="minute", threshold=1.2)))


def lasting(seconds: float) -> str:
    """Write an approximate duration in seconds, minutes or hours."""
    return str(dates.format_timedelta(max(1, round(seconds)), threshold=1.5, format="short", locale=get_locale()))


def moment(value: datetime | None) -> str:
    """Write a date and time in UTC."""
    return (
        # `rebase` would convert the time to the time zone of Flask-Babel, but the text says UTC.
        UNDEFINED
        if value is None
        else str(_("%(time)s UTC", time=format_datetime(value, "d MMM y, HH:mm", rebase=False)))
    )


def pretty_json(value: Any) -> str:
    """Write JSON with indentation."""
    return json.dumps(value, ensure_ascii=False, indent=2)
