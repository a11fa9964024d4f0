"""factgenie's instructions for annotators become Markdown without raw tags."""

import pytest

from spanplat.formats.factgenie_instructions import instructions_as_markdown
from spanplat.rendering.markdown import render_markdown

COLOURED = "color: rgb(214, 39, 40); text-decoration: underline; text-decoration-skip-ink: none"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        (f'<span style="{COLOURED}"><b>Wrong</b></span>: not so', "**Wrong**: not so"),
        (f'<b><span style="{COLOURED}">Wrong</span></b>: not so', "**Wrong**: not so"),
        (f'<span style="{COLOURED}">Not checkable</span>', "**Not checkable**"),
        ('<font color="red"> Wrong </font>and right', "**Wrong** and right"),
        ('<span class="hint">Only words</span>', "Only words"),
        ("<B>very <i>bad</i></B> and <em>so</em> <u>on</u>", "**very *bad*** and *so* on"),
        ("a<b></b>b <i> </i>c", "ab  c"),
        (
            f'below:\n<p>\n- <span style="{COLOURED}"><b>A</b></span>: one.\n- <b>B</b>: two.\n</p>\n\nGo on.',
            "below:\n\n- **A**: one.\n- **B**: two.\n\nGo on.",
        ),
        ("<p>One.</p>\n    <p>Two.<br/>Three.</p>", "One.\n\nTwo.  \nThree."),
        (
            "Do:<ul>\n  <li>this</li>\n  <li><b>that</b></li>\n</ul>Then:<ol><li>a</li><li>b</li></ol>",
            "Do:\n\n- this\n- **that**\n\nThen:\n\n1. a\n1. b",
        ),
        ("<b>first\n\nsecond</b>", "first\n\nsecond"),
        ("  **Mark** what a < b, a<b and <think> say. \n\n\n\n", "  **Mark** what a < b, a<b and <think> say. \n\n\n\n"),
        ("<b>never closed", "<b>never closed"),
    ],
)  # fmt: skip
def test_html_among_markdown_is_written_as_markdown(text: str, markdown: str) -> None:
    assert instructions_as_markdown(text) == markdown


def test_what_is_shown_has_the_names_of_categories_in_bold_and_no_tag() -> None:
    text = f'Mark:\n<p>\n- <span style="{COLOURED}"><b>Wrong</b></span>: not so.\n</p>'
    html = render_markdown(instructions_as_markdown(text))
    assert "<li><strong>Wrong</strong>: not so.</li>" in html
    assert "&lt;" not in html


@pytest.mark.parametrize(
    "text", ["<b>" * 30_000, "<b>" * 9 + "x" + "</b>" * 9 + " " * 100_000 + "<", "\n" * 50_000 + "<p", "<ol>" * 20_000]
)
def test_a_text_that_is_no_html_is_read_quickly(text: str) -> None:
    assert len(instructions_as_markdown(text)) <= len(text)
