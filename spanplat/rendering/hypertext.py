"""Renderer of HTML in sources: cleaned, and isolated in its own document.

Two protections apply, and each is sufficient alone. The cleaner removes everything that is not on a list of harmless elements and
attributes. The rest is shown in a frame without scripts, forms and navigation, with a policy that lets it load only allowed images.
"""

import re
from collections.abc import Sequence
from typing import Any

import nh3
from markupsafe import Markup

from spanplat.rendering.context import RenderingContext
from spanplat.rendering.images import is_allowed
from spanplat.rendering.markup import element, void_element

# fmt: off
TAGS = frozenset({
    "a", "abbr", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption", "center", "cite", "code", "col", "colgroup",
    "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hr", "i", "img", "ins", "kbd", "li", "main", "mark", "ol", "p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section",
    "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "tt",
    "u", "ul", "var", "wbr",
})
# fmt: on
"""Elements that only structure or format text."""

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


def render_html(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a text with HTML elements; return None for any other value."""
    if not isinstance(value, str) or not (asked or _LOOKS_LIKE_HTML.match(value)):
        return None
    hosts = context.settings.image_hosts
    title = context.label(context.name) if context.name else context.words.document
    return isolated(clean(value, hosts), title=title, hosts=hosts, language=context.settings.language)


def clean(html: str, hosts: Sequence[str] = ()) -> str:
    """Remove everything that is not on the list, the targets of links, and the addresses of images from other hosts.

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
        link_rel=None,  # links have no targets left
    )


def isolated(html: str, *, title: str, hosts: Sequence[str] = (), language: str = "") -> Markup:
    """Put HTML into a frame that cannot run scripts, send data or cover the page.

    The frame shares the page's origin, so that the page can search in it and set its height. Without ``allow-scripts`` the content
    cannot use the origin.
    """
    images = " ".join(f"https://{host}" for host in hosts) or "'none'"
    # The policy is part of the document, because a `srcdoc` frame has no response headers of its own.
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
