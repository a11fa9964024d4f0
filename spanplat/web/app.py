"""Factory of the Flask application."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from flask_babel import Babel, get_locale
from flask_compress import Compress
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.routing import IntegerConverter, Map

from spanplat import paths
from spanplat.db import Database
from spanplat.db.schema import require_current
from spanplat.formats.exports import EXPORT_FORMATS
from spanplat.services.accounts.sessions import LONGEST_SESSION
from spanplat.settings import Settings
from spanplat.web import (
    accounts,
    agreement,
    campaigns,
    crowd,
    datasets,
    definition_names,
    downloads,
    errors,
    formatting,
    headers,
    health,
    limits,
    locale,
    model_work,
    names,
    overview,
    policy,
    session,
    static_files,
)
from spanplat.web.background import computed
from spanplat.web.csrf import FormProtection

MAX_BODY = 16 * 1024 * 1024
"""Limit of a request body, in bytes. The largest text with all its spans is far smaller."""


ROOMS = (accounts, datasets, campaigns, crowd, agreement, model_work)
"""Packages with the pages of one domain each."""
PAGES = (health, overview, *(module for room in ROOMS for module in room.PAGES))
"""Modules with routes."""


class _NumberConverter(IntegerConverter):
    """Converter of numbers in addresses, up to the largest integer of the database. Larger numbers give 404, not a database error."""

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, max=2**31 - 1)


class _Application(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged. No view is a coroutine, and Flask's check at each request took 2 % of the time of a save."""
        return func


def create_app(settings: Settings, database: Database | None = None) -> Flask:
    """Build the application.

    Parameters
    ----------
    settings
        Configuration.
    database
        The database to use instead of the one the settings name.

    Returns
    -------
    Flask
        The WSGI application with its middleware and static files.

    Raises
    ------
    InvalidInput
        If the database was not created, or if its schema has another version.
    Unavailable
        If the database does not answer.
    """
    database = database or Database(settings.database)
    require_current(database)
    # WhiteNoise serves the static files (`spanplat.web.static_files`), so Flask needs no folder for them.
    app = _Application("spanplat", static_folder=None, template_folder=str(paths.TEMPLATES))
    app.url_map.converters["int"] = _NumberConverter
    app.extensions["spanplat_settings"] = settings
    _configure(app, settings)
    session.init_app(app, database)
    static_files.init_app(app, paths.STATIC, settings.make_home() / "static-cache")
    # This server speaks no TLS, so with https there is a proxy. Only its own entry (the last one) of X-Forwarded-For is
    # trusted: a client may send entries itself.
    if app.config["SESSION_COOKIE_SECURE"]:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1)  # type: ignore[method-assign]
    Compress(app)
    headers.init_app(app)
    Babel(app, default_translation_directories=str(paths.TRANSLATIONS), locale_selector=locale.of_request)
    # Functions that run before each request run in this order: limits of uploads, rate limits, access control, CSRF.
    for room in (accounts, datasets, campaigns):
        room.init_app(app)
    limits.init_app(app, settings)
    policy.init_app(app)
    csrf = FormProtection(app)
    for module in crowd.WITHOUT_COOKIES:
        csrf.exempt(module.blueprint)
    errors.init_app(app)
    formatting.init_app(app)
    names.init_app(app)
    definition_names.init_app(app)
    downloads.init_app(app)
    for module in PAGES:
        app.register_blueprint(module.blueprint)
    computed.init_app(app, *agreement.COMPUTED_PARTS, *model_work.COMPUTED_PARTS)
    # After all blueprints: it checks every route that the app will serve.
    policy.require_declared(app)
    return app


def _configure(app: Flask, settings: Settings) -> None:
    encrypted = urlsplit(settings.base_url).scheme == "https"
    app.config.update(
        SECRET_KEY=settings.session_key(),
        MAX_CONTENT_LENGTH=MAX_BODY,
        # Browsers accept a name with __Host- only from this host over HTTPS: no other subdomain can set such a cookie.
        SESSION_COOKIE_NAME="__Host-spanplat" if encrypted else "spanplat",
        SESSION_COOKIE_SECURE=encrypted,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=LONGEST_SESSION,  # counted from signing in, whatever the browser keeps
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session lives: a page left open over lunch still works
        COMPRESS_MIMETYPES=["text/html", "application/json", *(entry.media_type for entry in EXPORT_FORMATS)],
        COMPRESS_ALGORITHM=["br", "gzip"],
        # Flask-Compress cannot compress a stream with gzip.
        COMPRESS_ALGORITHM_STREAMING=["br"],
    )
    app.session_interface = headers.StaffSessionInterface()
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(may=policy.may, get_locale=get_locale)
    app.jinja_env.filters["sentence"] = locale.sentence
