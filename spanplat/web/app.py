"""The Flask application: one factory that puts the parts together."""

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
from spanplat.services.schema import require_current
from spanplat.services.sessions import LONGEST_SESSION
from spanplat.settings import Settings
from spanplat.web import (
    account,
    accounts,
    agreement,
    agreement_tables,
    amendments,
    annotator,
    audit,
    audit_names,
    browse,
    campaigns,
    computed,
    crowd,
    datasets,
    definition_names,
    draft_preview,
    drafts,
    errors,
    explorer,
    explorer_tables,
    export,
    extending,
    formatting,
    generations,
    headers,
    health,
    invitations,
    leaderboard,
    limits,
    locale,
    names,
    overview,
    people,
    policy,
    pools,
    practice,
    preview,
    prompts,
    run_view,
    runs,
    second_factor,
    sentinels,
    session,
    static_files,
    statistics,
    studies,
    systems,
    uploads,
)
from spanplat.web.csrf import FormProtection

MAX_BODY = 16 * 1024 * 1024
"""Bytes; the largest text with all its spans is far smaller."""


PAGES = (
    amendments,
    health,
    accounts,
    account,
    second_factor,
    invitations,
    people,
    audit,
    overview,
    campaigns,
    datasets,
    uploads,
    browse,
    drafts,
    statistics,
    crowd,
    pools,
    export,
    extending,
    runs,
    prompts,
    agreement,
    agreement_tables,
    explorer,
    explorer_tables,
    leaderboard,
    sentinels,
    systems,
    studies,
    generations,
    annotator,
    practice,
    preview,
    draft_preview,
)
"""The modules with the routes."""
WITHOUT_COOKIES = (annotator, practice, preview, draft_preview)
"""Routes that need no protection against forged requests: a token in the address is the credential, or nothing is written."""


class _NumberConverter(IntegerConverter):
    """Numbers in addresses, as far as databases know them: a larger one names nothing."""

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, max=2**31 - 1)


class _Application(Flask):
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function: none of ours is a coroutine, and to ask each for it at each request took 2 % of the time of a save."""
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
        A WSGI application, with its static files compressed and its middleware around it.

    Raises
    ------
    InvalidInput
        If the database has not been created, or is of another version.
    Unavailable
        If the database does not answer.
    """
    database = database or Database(settings.database)
    require_current(database)
    app = _Application("spanplat", static_folder=None, template_folder=str(paths.TEMPLATES))
    app.url_map.converters["int"] = _NumberConverter
    app.extensions["spanplat_settings"] = settings
    _configure(app, settings)
    session.init_app(app, database)
    static_files.init_app(app, paths.STATIC, settings.make_home() / "static-cache")
    if app.config["SESSION_COOKIE_SECURE"]:  # encrypted, which this server does not do itself: a proxy stands before it
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=1, x_proto=1)  # type: ignore[method-assign]
    Compress(app)
    headers.init_app(app)
    Babel(app, default_translation_directories=str(paths.TRANSLATIONS), locale_selector=locale.of_request)
    accounts.init_app(app)
    limits.init_app(app, settings)
    policy.init_app(app)
    uploads.init_app(app)
    drafts.init_app(app)
    csrf = FormProtection(app)
    for module in WITHOUT_COOKIES:
        csrf.exempt(module.blueprint)
    errors.init_app(app)
    formatting.init_app(app)
    names.init_app(app)
    run_view.init_app(app)
    definition_names.init_app(app)
    audit_names.init_app(app)
    for module in PAGES:
        app.register_blueprint(module.blueprint)
    computed.init_app(
        app,
        agreement.PART,
        agreement_tables.PART,
        sentinels.PART,
        leaderboard.BOARD,
        leaderboard.MATRIX_PART,
        systems.PART,
        studies.PART,
    )
    policy.require_declared(app)
    return app


def _configure(app: Flask, settings: Settings) -> None:
    encrypted = urlsplit(settings.base_url).scheme == "https"
    app.config.update(
        SECRET_KEY=settings.session_key(),
        MAX_CONTENT_LENGTH=MAX_BODY,
        SESSION_COOKIE_NAME="__Host-spanplat" if encrypted else "spanplat",
        SESSION_COOKIE_SECURE=encrypted,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=LONGEST_SESSION,  # counted from signing in, whatever the browser keeps
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session lives: a page left open over lunch still works
        COMPRESS_MIMETYPES=["text/html", "application/json", "application/x-ndjson", "text/csv"],
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_ALGORITHM_STREAMING=["br"],
    )
    app.session_interface = headers.StaffSessionInterface()
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals.update(may=policy.may, get_locale=get_locale)
    app.jinja_env.filters["sentence"] = locale.sentence
