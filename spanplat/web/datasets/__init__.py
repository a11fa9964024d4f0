"""Pages of datasets: lists, uploads, browsing."""

from flask import Flask

from spanplat.web.datasets import browse, pages, uploads

PAGES = (pages, uploads, browse)
"""The modules with routes."""


def init_app(app: Flask) -> None:
    """Register what the pages of datasets need."""
    uploads.init_app(app)
