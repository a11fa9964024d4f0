"""Pages of campaigns: progress, drafts, amendments, extensions, exports."""

from flask import Flask

from spanplat.web.campaigns import amendments, drafts, export, extending, pages, run_view

PAGES = (pages, drafts, amendments, export, extending)
"""The modules with routes."""


def init_app(app: Flask) -> None:
    """Register what the pages of campaigns need."""
    drafts.init_app(app)
    run_view.init_app(app)
