"""The disagreement explorer by HTTP: lists, one output, and links that lead from figures to texts."""

import html
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from sqlalchemy import select

from spanplat.db import Database
from spanplat.metrics.disagreement import ClusterType
from spanplat.models import Example, Output
from spanplat.rendering import render_source
from spanplat.schemas.span import MarkedSpan, Side
from spanplat.services.agreement.disagreement import find_disagreements
from spanplat.services.agreement.disagreement_outputs import SpanCluster, Who
from spanplat.web.marked_text import mark_text
from tests.web.conftest import without_token

LIST = "/admin/agreement/outputs?reference=demo-sample-a&hypothesis=demo-sample-b"
CATEGORIES = {"wrong": "Wrong", "unclear": "Unclear"}


class TextOf(HTMLParser):
    """Collects the text of the element with an id."""

    def __init__(self, page: str, element_id: str) -> None:
        super().__init__()
        self.wanted, self.depth, self.text = element_id, 0, ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        if self.depth or dict(attrs).get("id") == self.wanted:
            self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        del tag
        self.depth -= bool(self.depth)

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.text += data


def links(page: str, pattern: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(rf'href="([^"]*{pattern}[^"]*)"', page)]


def span(start: int, end: int, category: str = "wrong", side: Side = "output") -> MarkedSpan:
    return MarkedSpan(start, end, category, "", side)


def cluster(
    number: int = 1, *, reference: Sequence[MarkedSpan] = (), hypothesis: Sequence[MarkedSpan] = ()
) -> SpanCluster:
    sides: dict[Who, Sequence[MarkedSpan]] = {"reference": reference, "hypothesis": hypothesis}
    return SpanCluster(number, ClusterType.BOUNDARY, sides, is_wanted=True)


def test_the_list_shows_every_compared_output(viewer: Any) -> None:
    page = viewer.get(LIST).text

    assert "36 outputs compared" in page
    assert len(links(page, "/outputs/[0-9]+")) == 36


def test_without_two_campaigns_one_is_sent_to_choose_them(viewer: Any) -> None:
    response = viewer.get("/admin/agreement/outputs?reference=demo-sample-a")

    assert (response.status_code, response.location) == (303, "/admin/agreement?reference=demo-sample-a")


def test_a_kind_of_disagreement_leads_to_outputs_that_have_it(viewer: Any) -> None:
    page = viewer.get(LIST).text
    (missing,) = {link for link in links(page, "type=missing") if "/outputs?" in link}
    chosen = viewer.get(missing).text

    outputs = links(chosen, "/outputs/[0-9]+")
    assert 0 < len(outputs) < 36
    for link in outputs[:3]:
        assert '<span class="type missing">' in viewer.get(link).text


def test_every_text_stands_on_its_page_exactly_as_stored(viewer: Any, demo: Database) -> None:
    with demo.reading() as session:
        texts = {identifier: text for identifier, text in session.execute(select(Output.id, Output.text))}
    for link in links(viewer.get(LIST).text, "/outputs/[0-9]+"):
        output_id = int(re.findall(r"/outputs/(\d+)", link)[0])
        assert TextOf(viewer.get(link).text, "text").text == texts[output_id]


def test_one_walks_through_the_chosen_outputs_and_no_others(viewer: Any) -> None:
    page = viewer.get(f"{LIST}&type=extra").text
    expected = links(page, "/outputs/[0-9]+")
    walked, address = [], expected[0]
    while address:
        walked.append(address)
        following = re.search(r'<a rel="next" href="([^"]+)"', viewer.get(address).text)
        address = html.unescape(following[1]) if following else ""

    assert walked == expected


def test_the_link_to_share_gives_the_same_page(viewer: Any) -> None:
    address = links(viewer.get(f"{LIST}&type=extra&q=the").text, "/outputs/[0-9]+")[0]
    page = viewer.get(address).text
    shared = TextOf(page, "address").text

    assert shared == f"http://localhost{address}"
    assert without_token(viewer.get(shared.removeprefix("http://localhost")).text) == without_token(page)


def test_the_way_back_keeps_the_options_of_the_comparison(viewer: Any) -> None:
    page = viewer.get(f"{LIST}&system=larkspur&matching=greedy&type=missing&q=train").text
    (back,) = {link for link in links(page, r"/admin/agreement\?")}

    assert back == ("/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b&matching=greedy&system=larkspur")


def test_the_filter_form_keeps_what_it_does_not_ask_for(viewer: Any) -> None:
    page = viewer.get(f"{LIST}&type=missing&hypothesis_rule=each&system=larkspur&system=juniper").text

    for name, value in (("type", "missing"), ("hypothesis_rule", "each"), ("reference", "demo-sample-a")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in page
    assert page.count(" checked>") == 2


def test_what_was_searched_for_is_escaped(viewer: Any) -> None:
    page = viewer.get(f"{LIST}&q=<script>alert(1)</script>").text

    assert "<script>alert" not in page
    assert "No output fits this choice" in page


def test_categories_have_their_colours_in_a_stylesheet_of_their_own(viewer: Any, demo: Database) -> None:
    response = viewer.get(LIST.replace("/outputs?", "/outputs/colors.css?"))
    with demo.reading() as session:
        categories = find_disagreements(session, "demo-sample-a", "demo-sample-b").categories

    assert response.mimetype == "text/css"
    rules = response.text.splitlines()
    assert len(rules) == len(categories)
    assert all(re.fullmatch(r"\.category-\d+ { --c: #[0-9A-Fa-f]{6}; }", rule) for rule in rules)
    assert viewer.get(response.request.full_path, if_none_match=response.headers["ETag"]).status_code == 304


@pytest.mark.parametrize(
    ("parameters", "status", "words"),
    [
        ("&type=strange", 422, "something that does not exist"),
        ("&reference_category=late", 422, "neither campaign has a category"),
        ("&page=0", 422, "something that does not exist"),
        ("&page=99999999999999999999", 422, "something that does not exist"),
        ("&split=never", 422, "share no completed output"),
    ],
)
def test_a_wrong_address_is_answered_with_what_is_wrong(viewer: Any, parameters: str, status: int, words: str) -> None:
    response = viewer.get(LIST + parameters)

    assert response.status_code == status
    assert re.search(words, html.unescape(response.text))


def test_an_output_that_is_not_compared_is_not_found(viewer: Any) -> None:
    response = viewer.get(LIST.replace("/outputs?", "/outputs/999999?"))

    assert response.status_code == 404
    assert "is not compared" in response.text


def test_stretches_give_the_text_back_whatever_is_marked() -> None:
    text = "e\u0301tude 🌧️ № 5\n end"
    marked = mark_text(
        text,
        [
            cluster(1, reference=[span(0, 9)], hypothesis=[span(2, 40)]),
            cluster(2, reference=[span(3, 3)]),
            cluster(3, hypothesis=[span(90, 95)]),
            cluster(4, reference=[span(0, 5, side="source")]),
        ],
        CATEGORIES,
    )

    assert "".join(segment.text for segment in marked.segments) == text
    drawn = {mark.cluster for segment in marked.segments for mark in segment.marks}
    assert drawn == {1, 2}


def test_overlapping_spans_of_one_side_lie_on_lanes_of_their_own() -> None:
    reference, hypothesis = [span(0, 10), span(2, 5), span(5, 9)], [span(3, 6)]
    spans = [*reference, *hypothesis]
    marked = mark_text("0123456789", [cluster(reference=reference, hypothesis=hypothesis)], CATEGORIES)

    lanes: Mapping[MarkedSpan, set[int]] = {each: set() for each in spans}
    for segment in marked.segments:
        for mark in segment.marks:
            lanes[mark.span].add(mark.lane)
    assert [lanes[each] for each in spans] == [{0}, {1}, {1}, {0}]
    assert marked.lanes == {"reference": 2, "hypothesis": 1}


def test_a_label_names_the_category_where_there_is_room() -> None:
    clusters = [cluster(1, reference=[span(0, 2)]), cluster(2, reference=[span(3, 30, "unclear")])]
    marked = mark_text("x" * 40, clusters, CATEGORIES)

    assert [segment.above for segment in marked.segments if segment.above] == ["1", "2 Unclear"]


def test_an_empty_text_without_marks_has_no_stretches() -> None:
    assert mark_text("", [], CATEGORIES).segments == []


def figures_of(viewer: Any, address: str) -> str:
    """Return the agreement page of what an address of the explorer compares, with its figures."""
    page = address.replace("/outputs?", "?")
    viewer.get(page)
    viewer.post(page.replace("/agreement?", "/computed/agreement?"))
    text: str = viewer.get(page).text
    return text


def test_every_cell_of_the_confusion_matrix_leads_to_the_pairs_it_counts(viewer: Any) -> None:
    figures = figures_of(viewer, LIST)
    cells = re.findall(r'<a href="([^"]*hypothesis_category=[^"]*)">(\d+)</a>', figures)

    assert len(cells) > 5
    for link, number in cells:
        page = viewer.get(html.unescape(link)).text
        assert re.search(rf"\b{number} such pairs? of spans", page)


def test_the_figures_lead_to_the_outputs_with_the_same_options(viewer: Any) -> None:
    figures = figures_of(viewer, LIST + "&system=larkspur")

    assert f"{LIST}&system=larkspur" in links(figures, r"/outputs\?")


def test_the_source_of_an_output_is_rendered_with_its_charts(viewer: Any, demo: Database) -> None:
    with demo.reading() as session:
        rows = session.execute(select(Output.id, Example.source).join(Example, Example.id == Output.example_id)).all()
    charted = [(output_id, len(found.charts)) for output_id, source in rows if (found := render_source(source))]
    parameters = LIST.partition("?")[2]
    for output_id, charts in charted[:12]:
        page = viewer.get(f"/admin/agreement/outputs/{output_id}?{parameters}").text
        assert page.count("data-chart=") == charts
        assert "source-view" in page
        address = f"/admin/agreement/outputs/{output_id}/charts"
        assert viewer.get(f"{address}/{charts}?{parameters}").status_code == 404
        for number in range(charts):
            assert viewer.get(f"{address}/{number}?{parameters}").mimetype == "image/svg+xml"
    assert viewer.get(f"/admin/agreement/outputs/999999/charts/0?{parameters}").status_code == 404
