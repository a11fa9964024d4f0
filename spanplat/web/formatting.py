"""How figures, counts and moments are written on the researcher's pages: template filters."""

import json
from datetime import UTC, datetime
from typing import Any

from babel import dates
from flask import Flask
from flask_babel import format_datetime, format_decimal, format_timedelta, get_locale
from flask_babel import gettext as _
from jinja2 import Undefined
from markupsafe import Markup

UNDEFINED = "–"


def init_app(app: Flask) -> None:
    """Make the filters known to the templates."""
    for write in (figure, decimal, count, percent, dollars, money, ago, lasting, moment, pretty_json, data_value):
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
    """Write an amount of US dollars; a small one with four decimals, so that it does not look like nothing."""
    if value is None:
        return UNDEFINED
    if 0 < value < 0.0001:
        return f"< ${format_decimal(0.0001, '0.0000')}"
    return f"${format_decimal(value, '0.0000' if 0 < value < 0.1 else '#,##0.00')}"


def money(value: float | None, currency: str) -> str:
    """Write an amount in a currency, ``USD``, ``GBP`` or ``EUR``, as `dollars` are written."""
    return dollars(value).replace("$", {"GBP": "£", "EUR": "€"}.get(currency, "$"))


def ago(value: datetime | None) -> str:
    """Write how long ago a moment was, to the minute."""
    if value is None:
        return UNDEFINED
    passed = datetime.now(UTC) - value
    if passed.total_seconds() < 60:
        return str(_("just now"))
    return str(_("%(time)s ago", time=format_timedelta(passed, granularity="minute", threshold=1.2)))


def lasting(seconds: float) -> str:
    """Write how long something lasts, roughly: seconds, minutes or hours."""
    return str(dates.format_timedelta(max(1, round(seconds)), threshold=1.5, format="short", locale=get_locale()))


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


def data_value(value: str | float | datetime | Undefined | None) -> Markup:
    """Write the attribute that tells what stands behind a cell in full precision, for sorting and downloads; nothing is empty.

    >>> print(data_value(2 / 3), data_value(None), data_value(datetime(2026, 5, 1, tzinfo=UTC)))
    data-value="0.6666666666666666" data-value="" data-value="2026-05-01T00:00:00+00:00"
    """
    if value is None or isinstance(value, Undefined):
        return Markup('data-value=""')
    return Markup('data-value="{}"').format(value.isoformat() if isinstance(value, datetime) else value)
