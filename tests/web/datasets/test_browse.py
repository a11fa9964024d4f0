"""Browsing texts with the annotations of campaigns."""

import re
from typing import Any
from urllib.parse import quote

import pytest

PAGE = "/admin/browse"


def first_link(text: str) -> str:
    found = re.search(r'class="excerpt"[^>]*><a href="([^"]+)"', text)
    assert found is not None
    return found[1].replace("&amp;", "&")


def test_the_filter_of_the_list_goes_along_to_the_texts(viewer: Any) -> None:
    shown = viewer.get(f"{PAGE}?campaign=demo-sample-a&campaign=demo-sample-b&marked=some").text
    link = first_link(shown)
    assert "campaign=demo-sample-a" in link
    assert "marked=some" in link
    page = viewer.get(link)
    assert page.status_code == 200
    assert page.text.count('class="panel layer"') == 2
    assert 'rel="next"' in page.text


def test_the_text_comes_out_unchanged_under_its_marks(viewer: Any, demo: Any) -> None:
    link = first_link(viewer.get(f"{PAGE}?campaign=demo-sample-a&marked=all").text)
    page = viewer.get(link).text
    marked = re.search(r'<div class="marked[^>]*>(.*?)</div>', page, re.DOTALL)
    assert marked is not None
    drawn = re.sub(r"<[^>]+>", "", marked[1])
    with demo.engine.connect() as connection:
        texts = {row[0] for row in connection.exec_driver_sql("SELECT text FROM output")}
    unescaped = drawn.replace("&#39;", "'").replace("&#34;", '"').replace("&amp;", "&")
    assert unescaped.strip() in texts


@pytest.mark.parametrize("layout", ["stacked", "beside"])
def test_both_layouts_show_every_layer(viewer: Any, layout: str) -> None:
    link = first_link(viewer.get(f"{PAGE}?campaign=demo-sample-a&campaign=demo-sample-b").text)
    page = viewer.get(f"{link}&layout={layout}").text
    assert f'class="layers {layout}"' in page
    assert page.count('class="panel layer"') == 2


def test_a_filter_that_nothing_fits_says_what_to_do(viewer: Any) -> None:
    assert "No text fits" in viewer.get(f"{PAGE}?q=nothing-like-this").text


def test_a_value_that_cannot_be_is_told(viewer: Any) -> None:
    response = viewer.get(f"{PAGE}?marked=often")
    assert (response.status_code, "marked" in response.text) == (422, True)


def test_colours_are_a_stylesheet(viewer: Any) -> None:
    response = viewer.get(f"{PAGE}/colors.css?campaign=demo-sample-a")
    assert response.mimetype == "text/css"
    assert re.match(r"\.category-0 { --c: #[0-9A-Fa-f]{6}; }", response.text)


def test_long_lists_have_pages(viewer: Any) -> None:
    viewer.get(PAGE)
    assert "Keys: j and k" in viewer.get(PAGE).text
    assert viewer.get(f"{PAGE}?page=0").status_code == 422


def test_a_search_shows_where_it_hit(viewer: Any) -> None:
    page = viewer.get(f"{PAGE}?q=FERRY").text
    assert re.search(r'<mark class="hit">[Ff]erry</mark>', page)
    assert '<mark class="hit">22:10</mark>' in viewer.get(f"{PAGE}?q=22:10&place=source").text
    assert '<mark class="hit">22:10</mark>' in viewer.get("/admin/datasets/demo?search=22:10&place=source").text


@pytest.mark.parametrize(
    "wanted",
    ['"', '"""', "'", "it's", "%", "_", "\\", "a*", "(", "NEAR(a b)", "\x00", "<b>", "é", "a:b", "-", "^", "雨"],
)
@pytest.mark.parametrize("place", ["text", "source", "either"])
def test_no_search_is_an_error(viewer: Any, wanted: str, place: str) -> None:
    for address in (
        f"{PAGE}?q={quote(wanted)}&place={place}",
        f"/admin/datasets/demo?search={quote(wanted)}&place={place}",
    ):
        response = viewer.get(address)
        assert response.status_code == 200
        assert "<b>" not in response.text


@pytest.mark.parametrize("page", ["999999999999999999999999", "0", "x"])
def test_a_page_that_cannot_be_is_told(viewer: Any, page: str) -> None:
    assert viewer.get(f"{PAGE}?page={page}").status_code == 422
    assert viewer.get(f"/admin/datasets/demo?page={page}").status_code == 422


@pytest.mark.parametrize(
    "address",
    [f"{PAGE}?", "/admin/datasets/demo?", "/admin/agreement/outputs?reference=demo-sample-a&hypothesis=demo-sample-b&"],
)
def test_the_last_page_stands_for_those_beyond_it(viewer: Any, address: str) -> None:
    last = viewer.get(f"{address}page=999")
    assert last.status_code == 200
    assert "No text fits" not in last.text
    assert "No output fits" not in last.text
    pages = re.search(r"Page (\d+) of (\d+)", last.text)
    assert pages is None or pages[1] == pages[2]
    assert re.search(r'class="excerpt"|class="value-text"', last.text)
