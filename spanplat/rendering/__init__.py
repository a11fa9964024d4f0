"""Rendering of sources: any JSON value as safe HTML, without a page, a database or a request."""

from spanplat.rendering.context import Chart, Words
from spanplat.rendering.fields import without_field
from spanplat.rendering.source import RenderedSource, render_source

__all__ = ["Chart", "RenderedSource", "Words", "render_source", "without_field"]
