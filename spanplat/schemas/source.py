"""Settings for the rendering of sources."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from spanplat.schemas.base import Strict, refuse

SourceKind = Literal[
    "auto", "text", "markdown", "tree", "table", "dialogue", "triples", "translation", "series", "image", "html"
]

HostName = Annotated[
    str, StringConstraints(pattern=r"^(\*\.)?([a-z0-9-]+\.)+[a-z0-9-]+$", to_lower=True, max_length=253)
]


class SourceField(Strict):
    """One part of the source that is shown at the top, apart from the rest."""

    path: str = Field(min_length=1)
    """Name of the field; dots lead into records, as in ``details.img``."""
    label: str = ""
    """Heading above it, in place of its name."""
    kind: SourceKind = "auto"


class SourceSettings(Strict):
    """Rendering of a source; without settings it follows from the shape of the data."""

    kind: SourceKind = "auto"
    """Kind of the whole source."""
    fields: list[SourceField] = []
    """Shown first, in this order, each under its label."""
    others: Literal["show", "hide"] = "show"
    """Treatment of the parts that are not among ``fields``."""
    hide: list[str] = []
    """Names (anywhere in the source) or paths that are left out, such as ids and addresses of logos."""
    labels: dict[str, str] = {}
    """Readable names of fields, anywhere in the source."""
    language: str = ""
    """Language of the source's texts (``de``, ``ar``), for reading direction, hyphenation and screen readers."""
    image_hosts: list[HostName] = []
    """Hosts whose images are shown (``upload.wikimedia.org``, ``*.example.org``), over HTTPS; for other hosts the address is shown."""

    @field_validator("fields")
    @classmethod
    def _distinct(cls, value: list[SourceField]) -> list[SourceField]:
        paths = [field.path for field in value]
        refuse(
            ((position, "path"), f"the field {path!r} is named twice; name it once")
            for position, path in enumerate(paths)
            if path in paths[:position]
        )
        return value

    @field_validator("language")
    @classmethod
    def _known_language(cls, value: str) -> str:
        if value and not all(part.isalnum() and part.isascii() for part in value.split("-")):
            raise ValueError(f"{value!r} is no language tag; write for instance de, pt-BR or ar")
        return value
