"""Slugs: names of datasets, systems, campaigns and categories that are the same in all files."""

import re
import unicodedata
from typing import Annotated

from pydantic import StringConstraints

SLUG_PATTERN = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
Slug = Annotated[str, StringConstraints(pattern=SLUG_PATTERN, max_length=120)]


def slugify(name: str) -> str:
    """Reduce a name to lower-case letters, digits and single hyphens, so that ``phi3.5`` and ``Phi3-5`` are the same.

    Letters outside ASCII become their base letter if they have one (``é`` → ``e``). A name without any such letter is written
    as its code points, so that no slug is empty.

    >>> slugify("Phi3.5"), slugify("Not checkable"), slugify("Müller & Søn"), slugify("模型")
    ('phi3-5', 'not-checkable', 'muller-s-n', 'u6a21-u578b')
    """
    decomposed = unicodedata.normalize("NFKD", name).lower()
    ascii_only = "".join(c if ord(c) < 128 else "-" for c in decomposed if not unicodedata.combining(c))
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")
    return slug or "-".join(f"u{ord(c):x}" for c in name.strip())
