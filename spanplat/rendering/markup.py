"""HTML elements. Only this module writes tags, so that all other code can only pass text, which is escaped."""

from collections.abc import Iterable

from markupsafe import Markup, escape

Attribute = str | int | bool | None


def element(tag: str, *content: str, **attributes: Attribute) -> Markup:
    """Return an element. Content is escaped unless it is markup already. Attribute values are always escaped.

    Attributes that are None or False are left out. Attributes that are True have no value. A trailing underscore is dropped
    (``class_``), and others become hyphens (``aria_label``).

    >>> element("td", "a < b", class_="number")
    Markup('<td class="number">a &lt; b</td>')
    """
    return Markup(f"<{tag}{_written(attributes)}>{join(content)}</{tag}>")  # noqa: S704 - escaped just before


def void_element(tag: str, **attributes: Attribute) -> Markup:
    """Return an element without content, such as an image."""
    return Markup(f"<{tag}{_written(attributes)}>")  # noqa: S704 - escaped just before


def join(parts: Iterable[str]) -> Markup:
    """Concatenate pieces of markup and text; text is escaped."""
    return Markup("").join(parts)


def _written(attributes: dict[str, Attribute]) -> str:
    written = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        as_written = name.rstrip("_").replace("_", "-")
        # `str` first: `escape` would trust a value that is markup, and its quotation marks would end the attribute.
        written.append(f" {as_written}" if value is True else f' {as_written}="{escape(str(value))}"')
    return "".join(written)
