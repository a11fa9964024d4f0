"""Markdown to HTML: guidelines, consent and final messages, written by researchers and read by annotators."""

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

# Raw HTML is shown as text; the result is sanitised all the same, so that no flaw of a parser becomes one of the page.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Markup:
    r"""Return safe HTML for a Markdown text; headings begin at the third level, below those of the page.

    >>> render_markdown("**Mark** <script>")
    Markup('<p><strong>Mark</strong> &lt;script&gt;</p>\n')
    """
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(nh3.clean(html))  # noqa: S704 - sanitised
