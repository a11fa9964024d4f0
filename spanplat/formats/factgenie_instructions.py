"""What a factgenie campaign told its annotators, HTML among Markdown, as Markdown alone: raw HTML is shown as text here."""

import re

_INLINE = "span|font|b|strong|i|em|u"
_ELEMENT = re.compile(
    rf"<(?P<tag>{_INLINE})\b(?P<attributes>[^<>]*)>(?P<content>(?:(?!</?(?:{_INLINE})\b).)*)</(?P=tag)\s*>",
    re.IGNORECASE | re.DOTALL,
)
"""An element of a line of text that holds no other."""
# Space before an element is taken from its beginning only, so that long space is read once.
_BLOCK = re.compile(r"(?:(?<!\s)\s+)?</?(?:p|div|ul|ol)\b[^<>]*>\s*", re.IGNORECASE)
_NUMBERED = re.compile(r"<ol\b[^<>]*>(?:(?!</?[ou]l\b).)*</ol\s*>", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(r"(?:(?<!\s)\s+)?<li\b[^<>]*>\s*", re.IGNORECASE)
_ENTRY_END = re.compile(r"(?:(?<!\s)\s+)?</li\s*>", re.IGNORECASE)
_BREAK = re.compile(r"(?:(?<![ \t])[ \t]+)?<br\b[^<>]*>[ \t]*\n?", re.IGNORECASE)
_COLOURED = re.compile(r"color|font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_SIGNS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_DEEPEST = 10
"""Elements within each other that are read."""


def instructions_as_markdown(text: str) -> str:
    r"""Return instructions with their HTML written as Markdown.

    Coloured text becomes bold, as a category's name; bold and italic text, paragraphs, lists and line breaks keep their meaning, other
    spans leave their words. All other HTML, and what is not closed, stays as it stands, as does a text without any.

    >>> instructions_as_markdown('Mark: <p>\n- <span style="color: rgb(214, 39, 40)"><b>Wrong</b></span>: not so.\n</p>')
    'Mark:\n\n- **Wrong**: not so.'
    """
    written = text
    for _depth in range(_DEEPEST):
        written, replaced = _ELEMENT.subn(_emphasised, written)
        if not replaced:
            break
    written = _NUMBERED.sub(lambda found: _ENTRY.sub("\n1. ", found[0]), written)
    written = _ENTRY_END.sub("", _ENTRY.sub("\n- ", written))
    written = _BREAK.sub("  \n", _BLOCK.sub("\n\n", written))
    return text if written == text else re.sub(r"\n{3,}", "\n\n", written).strip()


def _emphasised(found: re.Match[str]) -> str:
    """Write an element; signs of emphasis stand next to words and do not reach over paragraphs, and bold within bold is bold."""
    content = found["content"]
    sign = _SIGNS.get(found["tag"].lower(), "**" if _COLOURED.search(found["attributes"]) else "")
    words = content.strip()
    if not sign or not words or re.search(r"\n\s*(?:\n|[-*+\d])|<(?:p|div|ul|ol|li|br)\b", words) or sign in words:
        return content
    before, _words, after = content.partition(words)
    return f"{before}{sign}{words}{sign}{after}"
