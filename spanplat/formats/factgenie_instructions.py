"""Conversion of factgenie's instructions, which mix HTML and Markdown, to Markdown. spanplat shows raw HTML as text."""

import re

_INLINE = "span|font|b|strong|i|em|u"
_ELEMENT = re.compile(
    rf"<(?P<tag>{_INLINE})\b(?P<attributes>[^<>]*)>(?P<content>(?:(?!</?(?:{_INLINE})\b).)*)</(?P=tag)\s*>",
    re.IGNORECASE | re.DOTALL,
)
"""An inline element without another one inside."""
# White space before an element matches only from its beginning: otherwise long white space takes quadratic time.
_BLOCK = re.compile(r"(?:(?<!\s)\s+)?</?(?:p|div|ul|ol)\b[^<>]*>\s*", re.IGNORECASE)
_NUMBERED = re.compile(r"<ol\b[^<>]*>(?:(?!</?[ou]l\b).)*</ol\s*>", re.IGNORECASE | re.DOTALL)
_ENTRY = re.compile(r"(?:(?<!\s)\s+)?<li\b[^<>]*>\s*", re.IGNORECASE)
_ENTRY_END = re.compile(r"(?:(?<!\s)\s+)?</li\s*>", re.IGNORECASE)
_BREAK = re.compile(r"(?:(?<![ \t])[ \t]+)?<br\b[^<>]*>[ \t]*\n?", re.IGNORECASE)
_COLOURED = re.compile(r"color|font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_SIGNS = {"b": "**", "strong": "**", "i": "*", "em": "*"}
_DEEPEST = 10
"""Levels of nested elements that are converted."""


def instructions_as_markdown(text: str) -> str:
    r"""Return instructions with their HTML written as Markdown.

    Coloured text becomes bold, because it names a category. Bold and italic text, paragraphs, lists and line breaks keep their
    meaning. Other spans keep only their words. All other HTML, and elements that are not closed, stay unchanged.

    >>> instructions_as_markdown('Mark: <p>\n- <span style="color: rgb(214, 39, 40)"><b>Wrong</b></span>: not so.\n</p>')
    'Mark:\n\n- **Wrong**: not so.'
    """
    written = text
    for _depth in range(_DEEPEST):  # from the innermost elements outwards
        written, replaced = _ELEMENT.subn(_emphasised, written)
        if not replaced:
            break
    # Numbered lists first: the entries that remain belong to lists with bullets.
    written = _NUMBERED.sub(lambda found: _ENTRY.sub("\n1. ", found[0]), written)
    written = _ENTRY_END.sub("", _ENTRY.sub("\n- ", written))
    written = _BREAK.sub("  \n", _BLOCK.sub("\n\n", written))
    return text if written == text else re.sub(r"\n{3,}", "\n\n", written).strip()


def _emphasised(found: re.Match[str]) -> str:
    """Write an element as Markdown.

    Markdown allows no space inside the signs of emphasis and no emphasis over several paragraphs. Bold within bold is written once.
    """
    content = found["content"]
    sign = _SIGNS.get(found["tag"].lower(), "**" if _COLOURED.search(found["attributes"]) else "")
    words = content.strip()
    if not sign or not words or re.search(r"\n\s*(?:\n|[-*+\d])|<(?:p|div|ul|ol|li|br)\b", words) or sign in words:
        return content
    before, _words, after = content.partition(words)
    return f"{before}{sign}{words}{sign}{after}"
