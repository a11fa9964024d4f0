"""Renderer of images: from hosts that the campaign allows, and images embedded in a source."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from spanplat.rendering.context import RenderingContext
from spanplat.rendering.markup import element, void_element

_IMAGE_FILE = re.compile(r"\.(?:avif|gif|jpe?g|png|svg|webp)$", re.IGNORECASE)
_IMAGE_FIELDS = ("image", "img", "photo", "picture", "image_url", "img_url", "thumbnail", "logo", "flag")
_EMBEDDED = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")


def render_image(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render the address of an image as an image; return None for any other value, and for hosts that are not allowed."""
    if not isinstance(value, str) or len(value) < 9:  # "https://" alone has eight characters
        return None
    if _EMBEDDED.match(value):
        return _image(value, context)
    if not is_allowed(value, context.settings.image_hosts):
        return None
    named = context.name.rpartition(".")[2].casefold() in _IMAGE_FIELDS
    if not (asked or named or _IMAGE_FILE.search(urlsplit(value).path)):
        return None
    return _image(value, context)


def is_allowed(address: str, hosts: Sequence[str]) -> bool:
    """Tell whether an image may be loaded: over HTTPS, from a host on the list.

    >>> is_allowed("https://upload.wikimedia.org/cat.jpg", ["*.wikimedia.org"])
    True
    >>> is_allowed("https://wikimedia.org.evil.example/cat.jpg", ["*.wikimedia.org"])
    False
    """
    # Browsers read a backslash as a slash, drop tabs and newlines, and map some other characters to ASCII. Such an address could have
    # another host in the browser than it has here.
    if not address.isascii() or not address.isprintable() or " " in address or "\\" in address:
        return False
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return False
    host = (parts.hostname or "").lower()
    if parts.scheme != "https" or port not in (None, 443) or parts.username is not None or not host:
        return False
    return any(host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:])) for allowed in hosts)


def _image(address: str, context: RenderingContext) -> Markup:
    name = context.label(context.name) if context.name else context.words.image
    shown = "" if address.startswith("data:") else address  # no tooltip with the whole encoded image
    return element(
        "span",
        void_element("img", src=address, alt=name, loading="lazy", referrerpolicy="no-referrer", title=shown or None),
        class_="image",
    )
