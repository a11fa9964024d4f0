"""HTML that came with a source: cleaned, and shown in a document of its own that can do nothing.

Two fences stand around it, each sufficient by itself. What is not on the list of harmless elements and attributes is removed; and the
rest stands in a frame without scripts, forms and navigation, under a policy that lets it load nothing but allowed images.
"""

import re
from collections.abc import Sequence
from typing import Any

import nh3
from markupsafe import Markup

from spanplat.rendering.images import is_allowed
from spanplat.rendering.markup import element, void_element
from spanplat.rendering.reading import Reading

# fmt: off
TAGS = frozenset({
    "a", "abbr", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption", "center", "cite", "code", "col", "colgroup",
    "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "i", "img", "ins", "kbd", "li", "main", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section",
    "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt",
    "u", "ul", "var", "wbr",
})
# fmt: on
"""Elements that only arrange text."""

_ATTRIBUTES = {
    "*": {"dir", "lang", "title"},
    "col": {"span"},
    "colgroup": {"span"},
    "img": {"src", "alt", "width", "height"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_WITHOUT_CONTENT = {"script", "style", "template", "noscript", "iframe", "object", "svg", "title", "select", "textarea"}

_LOOKS_LIKE_HTML = re.compile(
    r"\s*(?:<!doctype html|<(html|body|div|p|table|article|section|main|header|ul|ol|dl|h[1-6])\b[^<>]*>.*</\1>)",
    re.IGNORECASE | re.DOTALL,
)


def render_html(value: Any, reading: Reading, *, asked: bool) -> Markup | None:
    """Render a text with HTML elements in it; None for any other value."""
    if not isinstance(value, str) or not (asked or _LOOKS_LIKE_HTML.match(value)):
        return None
    hosts = reading.settings.image_hosts
    title = reading.label(reading.name) if reading.name else reading.words.document
    return isolated(clean(value, hosts), title=title, hosts=hosts, language=reading.settings.language)


def clean(html: str, hosts: Sequence[str] = ()) -> str:
    """Remove everything that is not on the list; links lose their targets, images from other hosts their addresses.

    >>> clean('<p onclick="x()">Rooms<script>alert(1)</script> <a href="https://example.org">here</a></p>')
    '<p>Rooms <a>here</a></p>'
    """

    def keep(tag: str, attribute: str, value: str) -> str | None:
        return None if (tag, attribute) == ("img", "src") and not is_allowed(value, hosts) else value

    return nh3.clean(
        html,
        tags=set(TAGS),
        attributes=_ATTRIBUTES,
        clean_content_tags=_WITHOUT_CONTENT,
        url_schemes={"https"},
        attribute_filter=keep,
        link_rel=None,
    )


def isolated(html: str, *, title: str, hosts: Sequence[str] = (), language: str = "") -> Markup:
    """Put HTML into a frame that can run, send and cover nothing.

    The frame shares the page's origin, so that the page can search it and give it its height; without ``allow-scripts`` nothing in it
    could use that.
    """
    images = " ".join(f"https://{host}" for host in hosts) or "'none'"
    policy = f"default-src 'none'; style-src 'self'; img-src {images}; form-action 'none'; base-uri 'none'"
    document = Markup("<!doctype html>") + element(
        "html",
        element(
            "head",
            void_element("meta", charset="utf-8"),
            void_element("meta", http_equiv="Content-Security-Policy", content=policy),
            void_element("meta", name="referrer", content="no-referrer"),
        ),
        element("body", Markup(html), dir="auto"),  # noqa: S704 - cleaned, and isolated by what this function returns
        lang=language or None,
    )
    return element(
        "iframe",
        class_="isolated",
        title=title,
        sandbox="allow-same-origin",
        referrerpolicy="no-referrer",
        srcdoc=document,
    )
