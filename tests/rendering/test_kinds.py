"""Each kind of source is known by its shape, and rendered for reading."""

from typing import Any

import pytest

from tests.rendering.reader import Seen
from tests.rendering.test_source import rendered, shown


def test_a_text_keeps_its_characters_and_says_its_direction() -> None:
    seen = shown("one  two\n\nthree <b>", language="ar")
    assert seen.text == "one  two\n\nthree <b>"
    assert seen.value("div", "dir") == "rtl"
    assert shown("one").value("div", "dir") == "auto"


def test_markdown_is_known_by_headings_tables_and_code() -> None:
    seen = shown("# Rooms\n\nA **quiet** one. ![view](https://elsewhere.example/x.png)\n\n<script>alert(1)</script>")
    assert {"h3", "strong"} <= set(seen.tags)
    assert "script" not in seen.tags
    assert seen.value("img", "src") is None
    assert "<script>" in seen.text
    assert "strong" not in shown("Not **this**, which could be anything.").tags


@pytest.mark.parametrize("kind", ["auto", "markdown"])
def test_markdown_that_would_take_a_minute_to_parse_is_shown_as_it_is(kind: str) -> None:
    text = "# Rooms\n\n" + "*[a_`" * 500_000
    seen = shown(text, kind=kind)
    assert "h3" not in seen.tags
    assert len(seen.text.strip()) == len(text)


def test_a_list_of_records_is_a_table_with_one_column_for_each_field() -> None:
    seen = shown([{"time": {"minute": 3}, "type": "Goal"}, {"time": {"minute": 9}, "type": "Card", "by": ["Ada"]}])
    assert seen.text == "time · minutetypeby" + "3Goal–" + "9CardAda"
    assert seen.tags.count("th") == 3
    assert seen.value("div", "tabindex") == "0"


def test_the_head_of_a_column_of_numbers_stands_as_they_do() -> None:
    table = rendered([{"kind": "suite", "beds": 2, "note": None}, {"kind": "single", "beds": None, "note": None}]).html
    assert '<th scope="col" class="number">beds</th>' in table
    assert '<th scope="col">kind</th>' in table
    assert '<th scope="col">note</th>' in table


def test_columns_and_rows_are_a_table_and_so_are_rows_alone() -> None:
    assert shown({"columns": ["player", "points"], "rows": [["Ada", 31]]}).text == "playerpointsAda31"
    assert shown([["player", "points"], ["Ada", 31]]).tags.count("th") == 2
    assert shown([["Ada", "Kestrels"], ["Bo", "Lynx"]]).tags.count("th") == 0


def test_cells_may_be_headings_and_span_others() -> None:
    cells = [[{"value": "Year", "is_header": True, "column_span": 2}], [{"value": "1893"}, {"value": "1894"}]]
    seen = shown(cells)
    assert (seen.tags.count("th"), seen.tags.count("td")) == (1, 2)
    assert seen.value("th", "colspan") == "2"


def test_a_table_too_wide_to_read_becomes_a_tree() -> None:
    rows = [{f"column {number}": number for number in range(20)}] * 2
    assert "table" not in shown(rows).tags
    assert "table" in shown(rows, kind="table").tags


def test_names_with_values_are_pairs_and_records_under_a_title_sections() -> None:
    source = [
        {"category": "Body", "specifications": [{"name": "Weight", "value": "270 g"}]},
        {"category": "Sound", "specifications": [{"name": "3.5mm_jack", "value": "Yes"}]},
    ]
    seen = shown(source)
    assert seen.text == "Body (1)Weight270 gSound (1)3.5mm_jackYes"
    assert seen.tags.count("summary") == 2
    assert seen.tags.count("dt") == 2


def test_big_branches_are_folded_at_first() -> None:
    seen = shown({"few": {"a": 1}, "many": {str(number): number for number in range(100)}})
    assert [name for _tag, name, _value in seen.attributes].count("open") == 1


@pytest.mark.parametrize(
    "source",
    [
        [{"speaker": "guest", "text": "A table?"}, {"speaker": "waiter", "text": "For whom?"}],
        [{"role": "user", "content": "A table?"}, {"role": "assistant", "content": [{"type": "text", "text": "For whom?"}]}],
        [{"from": "guest", "value": "A table?"}, {"from": "waiter", "value": "For whom?"}],
        [{"turn": 1, "utterance": "A table?"}, {"turn": 2, "utterance": "For whom?", "speaker": 1}],
    ],
)  # fmt: skip
def test_turns_with_speakers_are_a_dialogue(source: Any) -> None:
    seen = shown(source)
    assert "A table?" in seen.text
    assert "For whom?" in seen.text
    assert ("ol.dialogue" in seen.shapes) == all(set(turn) & {"speaker", "role", "from"} for turn in source)


def test_turns_keep_what_else_they_say_and_sides_tell_speakers_apart() -> None:
    seen = shown([{"speaker": "a", "text": "Hi", "time": "18:02"}, {"speaker": "b", "text": "Hello"}])
    assert seen.text == "aHitime 18:02bHello"
    assert [shape for shape in seen.shapes if shape.startswith("li")] == ["li.turn.side-0", "li.turn.side-1"]


def test_lines_are_a_dialogue_when_the_campaign_says_so() -> None:
    seen = shown("guest: A table?\nwaiter: For whom?\nAnd when?", kind="dialogue")
    assert seen.text == "guestA table?waiterFor whom?\nAnd when?"
    assert "ol.dialogue" not in shown("guest: A table?\nwaiter: For whom?").shapes


@pytest.mark.parametrize(
    "source",
    [
        [
            {"subject": "Ravna", "property": "height", "object": "31 m"},
            {"subject": "Ravna", "property": "lit", "object": 1893},
        ],
        [{"s": "Ravna", "p": "height", "o": "31 m"}, {"s": "Ravna", "p": "lit", "o": 1893}],
        ["Ravna | height | 31 m", "Ravna | lit | 1893"],
        {"triples": [["Ravna", "height", "31 m"], ["Ravna", "lit", 1893]]},
    ],
)
def test_triples_name_each_subject_once(source: Any) -> None:
    seen = shown(source)
    assert seen.text.endswith("SubjectPropertyObjectRavnaheight31 mlit1893")
    assert seen.value("th", "scope") == "col"
    assert ("th", "rowspan", "2") in seen.attributes


def test_parallel_text_says_language_and_direction_of_each_part() -> None:
    seen = shown({"source": "مرحبا", "source_language": "ar", "target_language": "de", "reference": "Hallo"})
    assert seen.text == "ar → deمرحباreferenceHallo"
    assert [(name, value) for _tag, name, value in seen.attributes if name in ("lang", "dir")] == [
        ("lang", "ar"),
        ("dir", "rtl"),
        ("lang", "de"),
        ("dir", "ltr"),
    ]
    by_language = shown({"de": "Hallo", "cs": "Ahoj"})
    assert by_language.text == "deHallocsAhoj"
    assert by_language.value("div", "lang") == "de"


def test_sentences_of_a_translation_are_numbered() -> None:
    seen = shown(["Eins.", "Zwei."], kind="translation", language="de")
    assert seen.shapes[0] == "ol.sentences"
    assert seen.value("ol", "lang") == "de"


def test_a_record_that_only_looks_like_languages_is_none() -> None:
    assert "section" not in shown({"id": "x", "to": "y"}).tags or shown({"id": "x", "to": "y"}).text == "idxtoy"


WEATHER = [{"date": f"2025-02-{day:02}", "temp": day * 1.5, "sky": "clear", "id": day} for day in range(10, 16)]


def test_records_in_time_are_a_chart_beside_their_table() -> None:
    found = rendered({"forecast": WEATHER})
    assert len(found.charts) == 1
    points = found.charts[0].spec["data"]["values"]
    assert {point["series"] for point in points} == {"temp"}
    assert points[0]["title"] == "2025-02-10: temp 15.0"
    seen = shown({"forecast": WEATHER})
    assert ("svg", "data-chart", "0") in seen.attributes
    assert "2025-02-15" in seen.text


def test_a_long_series_is_not_folded_away_with_its_chart() -> None:
    hours = [{"date": f"2025-02-{1 + hour // 24:02} {hour % 24:02}:00", "temp": hour} for hour in range(48)]
    assert "<details open>" in rendered({"town": "Brno", "forecast": hours}).html


@pytest.mark.parametrize(
    "times", [["2024-01", "2024-02", "2024-03"], [1999, 2000, 2001], [1713916800, 1713920400, 1713924000]]
)
def test_times_are_dates_months_years_or_seconds(times: list[Any]) -> None:
    name = "year" if times[0] == 1999 else "time"
    assert rendered([{name: time, "value": number} for number, time in enumerate(times)]).charts


@pytest.mark.parametrize(
    "records",
    [
        WEATHER[:2],
        [*WEATHER, WEATHER[0]],
        [{"date": entry["date"], "sky": "clear"} for entry in WEATHER],
        [{"time": {"elapsed": number}, "type": "Goal"} for number in range(5)],
    ],
    ids=["too few", "not in order", "nothing to draw", "not a time"],
)
def test_other_records_have_no_chart(records: list[Any]) -> None:
    assert rendered(records).charts == ()


def test_images_are_shown_from_allowed_hosts_alone() -> None:
    source = {"img": "https://images.example.org/a.jpg", "logo": "https://tracker.example/a.png"}
    seen = shown(source, image_hosts=["*.example.org"])
    assert seen.value("img", "src") == "https://images.example.org/a.jpg"
    assert seen.tags.count("img") == 1
    assert "https://tracker.example/a.png" in seen.text
    assert "img" not in shown(source).tags


@pytest.mark.parametrize(
    "address",
    [
        "http://images.example.org/a.jpg",
        "https://images.example.org.evil.test/a.jpg",
        "https://images.example.org@evil.test/a.jpg",
        "https://images.example.org:8443/a.jpg",
        "https://images.example.org\\@evil.test/a.jpg",
        "//images.example.org/a.jpg",
        "https://[images.example.org/a.jpg",
        "data:image/svg+xml;base64,AAAA",
    ],
)
def test_an_address_that_only_resembles_an_allowed_one_stays_text(address: str) -> None:
    seen = shown({"img": address}, image_hosts=["images.example.org"])
    assert "img" not in seen.tags
    assert address in seen.text


HOSTILE = """<h1 onclick="run()" id="text" class="panel">Rooms</h1><script>run()</script><img src=x onerror="run()">
<style>body { display: none }</style><link rel="stylesheet" href="https://evil.test/x.css"><base href="https://evil.test/">
<meta http-equiv="refresh" content="0;url=https://evil.test/"><form action="https://evil.test/">
<button>Send</button><input name=a></form>
<p style="position:fixed;inset:0;background:url(https://evil.test/b.png)">cover</p><a href="javascript:run()">one</a>
<a href="https://evil.test/" ping="https://evil.test/">two</a><svg onload="run()"><a xlink:href="javascript:run()">x</a></svg>
<iframe srcdoc="<script>parent.run()</script>"></iframe><object data="x"></object>
<math><mtext><table><mglyph><style><img src=x onerror=run()>
</style></table></math><video src="https://evil.test/v" poster="https://evil.test/p"></video>
<noscript><p title="</noscript><img src=x onerror=run()>">
"""


def test_html_is_cleaned_and_put_into_a_frame_of_its_own() -> None:
    seen = shown(HOSTILE)
    assert seen.tags == ["iframe"]
    document = seen.value("iframe", "srcdoc") or ""
    inside = Seen()
    inside.feed(document)
    assert not set(inside.tags) & {
        *("script", "style", "link", "base", "form", "button", "input", "svg", "iframe", "object", "video", "noscript")
    }
    assert inside.tags.count("meta") == 3
    assert {name for tag, name, _value in inside.attributes if tag not in ("meta", "html", "body")} <= {"alt", "title"}
    assert "cover" in inside.text
    assert "run()" not in inside.text
    assert "default-src 'none'" in (inside.value("meta", "content") or "")


def test_a_text_with_a_stray_tag_is_no_html() -> None:
    assert shown("<img src=x onerror=alert(1)>").text == "<img src=x onerror=alert(1)>"
    assert shown("a < b and <p> without an end").tags == ["div"]
