"""Markdown to HTML, for texts of researchers and for sources in Markdown."""

import re
from collections.abc import Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from spanplat.rendering.context import RenderingContext
from spanplat.rendering.images import is_allowed
from spanplat.rendering.markup import element

# Raw HTML is shown as text. The result is sanitised as well, so that a bug in the parser is not a hole in the page.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])

# fmt: off
TAGS = frozenset({
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s", "strong", "table",
    "tbody", "td", "th", "thead", "tr", "ul",
})
# fmt: on
"""All elements that Markdown can produce."""

_ATTRIBUTES = {"a": {"href", "title"}, "img": {"src", "alt", "title"}, "ol": {"start"}}

LONGEST_SOURCE = 100_000
"""Characters of a source. Parsing this many takes up to three seconds, each time it is shown. Longer texts are shown unformatted."""

_LOOKS_LIKE_MARKDOWN = re.compile(r"^#{1,6} \S.*$|^```|^\|.*\|[ \t]*\n\|[ :|-]+\|", re.MULTILINE)


def inline_markdown(text: str) -> Markup:
    r"""Return safe HTML for one line of Markdown, for use inside a paragraph.

    >>> inline_markdown("Mark the *smallest* piece")
    Markup('Mark the <em>smallest</em> piece')
    """
    return _cleaned(_PARSER.renderInline(text))


def render_markdown(text: str, image_hosts: Sequence[str] = ()) -> Markup:
    r"""Return safe HTML for a Markdown text; its highest headings become third-level headings, below those of the page.

    Parameters
    ----------
    text
        The Markdown.
    image_hosts
        Hosts whose images are shown; for other hosts the alternative text is shown.

    >>> render_markdown("**Mark** <script>")
    Markup('<p><strong>Mark</strong> &lt;script&gt;</p>\n')
    >>> render_markdown("## Mark")
    Markup('<h3>Mark</h3>\n')
    """
    tokens = _PARSER.parse(text)
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    highest = min((int(token.tag[1]) for token in headings), default=1)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1]) - highest + 3)}"
    return _cleaned(_PARSER.renderer.render(tokens, _PARSER.options, {}), image_hosts)


def render_markdown_source(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render a text with headings, fenced code or tables; return None for any other value, and for a very long text."""
    if not isinstance(value, str) or len(value) > LONGEST_SOURCE or not (asked or _LOOKS_LIKE_MARKDOWN.search(value)):
        return None
    html = render_markdown(value, context.settings.image_hosts)
    return element("div", html, class_="prose", dir="auto", lang=context.settings.language or None)


def _cleaned(html: str, image_hosts: Sequence[str] = ()) -> Markup:
    def keep(tag: str, attribute: str, value: str) -> str | None:
        return None if (tag, attribute) == ("img", "src") and not is_allowed(value, image_hosts) else value

    cleaned = nh3.clean(
        html,
        tags=set(TAGS),
        attributes=_ATTRIBUTES,
        attribute_filter=keep,
        url_schemes={"http", "https", "mailto"},
        set_tag_attribute_values={"a": {"target": "_blank"}},  # nh3 adds rel="noopener noreferrer" itself
    )
    return Markup(cleaned)  # noqa: S704 - sanitised
