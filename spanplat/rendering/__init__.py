"""Sources rendered for reading: any JSON value to safe HTML, without a page, a database or a request."""

from spanplat.rendering.fields import without_field
from spanplat.rendering.reading import Chart, Words
from spanplat.rendering.source import RenderedSource, render_source

__all__ = ["Chart", "RenderedSource", "Words", "render_source", "without_field"]
