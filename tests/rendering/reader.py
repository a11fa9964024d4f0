"""What a browser would make of rendered HTML, as far as tests ask."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"img", "meta", "br", "hr", "col", "wbr"}


@dataclass
class Seen(HTMLParser):
    """Tags, attributes and text of a piece of HTML; complains about what is not nested well."""

    tags: list[str] = field(default_factory=list)
    attributes: list[tuple[str, str, str | None]] = field(default_factory=list)
    text: str = ""
    open: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    """Tags with their classes, as in ``ol.dialogue``."""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.shapes.append(".".join([tag, *(dict(attrs).get("class") or "").split()]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def value(self, tag: str, name: str) -> str | None:
        """Return the value of the first attribute of this name."""
        return next((value for one, attribute, value in self.attributes if (one, attribute) == (tag, name)), None)


def see(html: str) -> Seen:
    seen = Seen()
    seen.feed(str(html))  # markup would escape what is added to it
    seen.close()
    assert seen.open == []
    return seen
