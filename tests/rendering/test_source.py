"""Any source becomes safe HTML in which everything of it can be read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.rendering import render_source
from spanplat.rendering.context import written
from spanplat.rendering.source import RenderedSource
from spanplat.schemas.source import SourceSettings
from tests.rendering.reader import Seen, see

# Every element and attribute that a renderer writes; HTML of a source stands in the value of one of them.
TAGS = {
    *(
        "a",
        "b",
        "blockquote",
        "br",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "figure",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
    ),
    *(
        "iframe",
        "img",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "section",
        "span",
        "strong",
        "summary",
        "svg",
        "table",
        "tbody",
        "td",
        "th",
    ),
    *("thead", "tr", "ul"),
}
ATTRIBUTES = {
    *(
        "alt",
        "aria-label",
        "class",
        "colspan",
        "data-chart",
        "dir",
        "href",
        "lang",
        "loading",
        "open",
        "referrerpolicy",
        "rel",
        "role",
    ),
    *("rowspan", "sandbox", "scope", "src", "srcdoc", "start", "tabindex", "target", "title", "viewbox"),
}
KINDS = ["auto", "text", "markdown", "tree", "table", "dialogue", "triples", "translation", "series", "image", "html"]

# Texts and names that renderers look for, and those that try to become something else.
WORDS = st.one_of(
    st.text(max_size=12).filter(lambda text: "\r" not in text),
    st.sampled_from(
        [
            "speaker", "text", "subject", "property", "object", "source", "target", "de", "date", "2024-01-02", "name", "value",
            "rows", "columns", "triples", "a | b | c", "A: hello", "<script>alert(1)</script>", "<p>x</p>",
            '"><img src=x onerror=alert(1)>',
            "# Title\n\ntext",
            "https://example.org/a.png", "javascript:alert(1)", "data:image/png;base64,AAAA", "</div>", "&amp;", "é",
            "3.5mm_jack ",
        ]
    ),
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**14), 10**14), st.floats(allow_nan=False, allow_infinity=False), WORDS
)
SOURCES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(WORDS, inner, max_size=4),
        st.lists(st.dictionaries(WORDS, SCALARS, min_size=1, max_size=3), min_size=2, max_size=4),
    ),
    max_leaves=20,
)


def shown(source: Any, **settings: Any) -> Seen:
    return see(rendered(source, **settings).html)


def rendered(source: Any, **settings: Any) -> RenderedSource:
    found = render_source(source, SourceSettings.model_validate(settings))
    assert found is not None
    return found


def leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves(inner)]
    return [] if value is None else [written(value)]


@given(source=SOURCES.filter(lambda source: source is not None), kind=st.sampled_from(KINDS))
def test_no_source_whatever_its_kind_becomes_anything_but_the_elements_of_renderers(source: Any, kind: str) -> None:
    seen = shown(source, kind=kind, image_hosts=["example.org"])
    assert set(seen.tags) <= TAGS
    assert {name for _tag, name, _value in seen.attributes} <= ATTRIBUTES
    for tag, name, value in seen.attributes:
        if name == "href":
            assert value is not None
            assert value.startswith(("http://", "https://", "mailto:"))
        if name == "src":
            assert value is not None
            assert value.startswith(("https://example.org/", "data:image/"))
        if tag == "iframe" and name == "sandbox":
            assert value == "allow-same-origin"


@given(
    source=SOURCES.filter(lambda source: source is not None), kind=st.sampled_from(["auto", "text", "tree", "table"])
)
def test_every_value_of_a_source_can_be_read(source: Any, kind: str) -> None:
    seen = shown(source, kind=kind)
    if {"iframe", "img"} & set(seen.tags) or "div.prose" in seen.shapes:
        return  # HTML, Markdown and images show something else than their text; they have tests of their own
    squeezed = "".join(seen.text.split())
    for leaf in leaves(source):
        # triples in one string lose the signs between their parts
        assert all("".join(part.split()) in squeezed for part in leaf.split(" | ")), leaf


def test_no_source_is_nothing() -> None:
    assert render_source(None) is None


@pytest.mark.parametrize("source", ["", {}, [], 0, False, "a\r\nb", {"": {}}, [[]], [[], [[]]]])
def test_little_is_something(source: Any) -> None:
    assert rendered(source).html


def test_what_lies_too_deep_is_shown_as_json() -> None:
    source: Any = "bottom"
    for _ in range(300):
        source = {"in": source}
    assert shown(source).text.endswith('"bottom"' + "}" * shown(source).text.count("}"))


def test_fields_come_first_in_their_order_and_hidden_names_nowhere() -> None:
    source = {"id": 7, "facts": {"id": 8, "stars": 4}, "notes": "quiet", "name": "Riverside"}
    fields = [{"path": "name", "label": "Hotel"}, {"path": "facts.stars"}, {"path": "not.there"}]
    assert shown(source, fields=fields, hide=["id"]).text == "HotelRiversidefacts · stars4notesquiet"
    assert shown(source, fields=fields, hide=["facts.id", "id"], others="hide").text == "HotelRiversidefacts · stars4"


def test_names_are_written_as_people_write_them_or_as_the_campaign_says() -> None:
    source = {"elapsed_time": 3, "detail": {"nr": 1}}
    assert shown(source, labels={"nr": "Number"}).text == "elapsed time3detailNumber1"


def test_a_field_is_rendered_as_the_campaign_says_even_where_its_shape_says_otherwise() -> None:
    source = {"body": "# not a title"}
    assert "h3" not in shown({"body": "no *title*"}).tags
    assert "em" in shown({"body": "no *title*"}, fields=[{"path": "body", "kind": "markdown"}]).tags
    assert "# not a title" in shown(source, fields=[{"path": "body", "kind": "text"}]).text


def test_a_kind_that_does_not_fit_falls_back_to_the_shape() -> None:
    assert shown({"stars": 4}, kind="dialogue").text == "stars4"


def test_a_long_source_is_rendered_whole() -> None:
    source = {
        "entries": [{"id": number, "words": f"word {number}", "list": [number, [number]]} for number in range(3000)]
    }
    assert "word 2999" in shown(source).text
