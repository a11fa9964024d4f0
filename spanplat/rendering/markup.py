"""Elements as text: the one place where tags are written, so that everything else can only hand over text."""

from collections.abc import Iterable

from markupsafe import Markup, escape

Attribute = str | int | bool | None


def element(tag: str, *content: str, **attributes: Attribute) -> Markup:
    """Return an element; content is escaped unless it is markup already, values of attributes always are.

    Attributes that are None or False are left out, those that are True have no value. A trailing underscore is dropped
    (``class_``), others become hyphens (``aria_label``).

    >>> element("td", "a < b", class_="number")
    Markup('<td class="number">a &lt; b</td>')
    """
    return Markup(f"<{tag}{_written(attributes)}>{join(content)}</{tag}>")  # noqa: S704 - escaped just before


def void_element(tag: str, **attributes: Attribute) -> Markup:
    """Return an element that has no content, such as an image."""
    return Markup(f"<{tag}{_written(attributes)}>")  # noqa: S704 - escaped just before


def join(parts: Iterable[str]) -> Markup:
    """Put pieces of markup and text behind one another; text is escaped."""
    return Markup("").join(parts)


def _written(attributes: dict[str, Attribute]) -> str:
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        as_written = name.rstrip("_").replace("_", "-")
        written.append(f" {as_written}" if value is True else f' {as_written}="{escape(str(value))}"')
    return "".join(written)
