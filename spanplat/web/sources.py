"""Rendering of sources in pages, with headings in the page's language and addresses for their charts."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast

from flask import Response, current_app, request
from flask_babel import gettext as _
from markupsafe import Markup

from spanplat.errors import NotFound
from spanplat.formats.vega import draw, with_titles
from spanplat.rendering import RenderedSource, Words, render_source, without_field
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.source import SourceSettings
from spanplat.settings import Settings
from spanplat.web.headers import allow_images
from spanplat.web.locale import SOURCE_LANGUAGE, speaking


def source_settings(definition: CampaignDefinition | None) -> SourceSettings:
    """Return the campaign's settings for sources; without a campaign the defaults, which guess the kind from the data."""
    return definition.data.source if definition is not None and definition.data else SourceSettings()


def shown_as(definitions: Iterable[CampaignDefinition]) -> CampaignDefinition | None:
    """Return the first definition with its own settings for sources, for pages that show several campaigns."""
    return next((one for one in definitions if source_settings(one) != SourceSettings()), None)


def rendered(definition: CampaignDefinition | None, source: Any, language: str) -> RenderedSource | None:
    """Render a source with the campaign's settings, and allow the current page to load the images of the campaign's hosts."""
    settings = source_settings(definition)
    allow_images(settings.image_hosts)
    return render_source(source, settings, _words(language))


@cache
def _words(language: str) -> Words:
    """Return the headings in a language. They are cached: the look-up took longer than rendering a small source."""
    with speaking(language):
        return Words(
            subject=_("Subject"),
            property=_("Property"),
            object=_("Object"),
            image=_("Image"),
            chart=_("Chart"),
            table=_("Table"),
            document=_("Document"),
        )


def html_of(definition: CampaignDefinition | None, source: Any, language: str = SOURCE_LANGUAGE) -> Markup | None:
    """Return the HTML of a source; None if there is no source."""
    shown = rendered(definition, source, language)
    return None if shown is None else shown.html


def item_source_html(definition: CampaignDefinition, item: Mapping[str, Any], language: str) -> Markup | None:
    """Return the HTML of an item's source, without the field that annotators mark; None if there is no source."""
    source, marked = item["source"], item["source_text"]
    if source is None or marked is None:
        return html_of(definition, source, language)
    # Empty if nothing remains beside the marked field. None would hide the pane, which holds the marked text.
    return html_of(definition, without_field(source, marked["field"]), language) or Markup("")


def chart_of(definition: CampaignDefinition | None, source: Any, number: int) -> Response:
    """Draw the chart with ``data-chart="number"`` in the rendered source.

    Raises
    ------
    NotFound
        If the source has no such chart.
    """
    shown = rendered(definition, source, SOURCE_LANGUAGE)
    if shown is None or number >= len(shown.charts):
        raise NotFound(f"this source has no chart {number}")
    settings = cast("Settings", current_app.extensions["spanplat_settings"])
    image = with_titles(draw(shown.charts[number].spec, "svg", folder=settings.make_home() / "charts"))
    response = Response(image, content_type="image/svg+xml")
    response.add_etag()
    response.make_conditional(request)
    return response


def example_chart(definition: CampaignDefinition, example: int, number: int) -> Response:
    """Draw a chart of the source of a worked example; examples are counted from 0.

    Raises
    ------
    NotFound
        If there is no such example, or its source has no such chart.
    """
    if example >= len(definition.worked_examples):
        raise NotFound(f"the instructions have no worked example {example}")
    return chart_of(definition, definition.worked_examples[example].source, number)
