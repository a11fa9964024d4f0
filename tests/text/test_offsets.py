"""Code points and UTF-16 units: the Python side alone, and the browser's side against it on the same texts."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser

from spanplat.errors import InvalidInput
from spanplat.text import OffsetIndex, code_points_to_utf16, utf16_to_code_points

MODULE = Path(__file__).parents[2] / "static" / "js" / "offsets.js"

SAMPLES = {
    "empty": "",
    "latin": "plain text",
    "emoji": "a😀b🎉🎉c",
    "zwj family": "x👩\u200d👩\u200d👧\u200d👦y",
    "skin tone and flag": "👍🏽 🇨🇿",
    "combining marks": "e\u0301a\u0328\u0301 Z\u0351\u036b\u0343",
    "arabic": "مرحبا بالعالم 😀",
    "hebrew with points": "שָׁלוֹם עוֹלָם",
    "devanagari": "क्षत्रिय नमस्ते",
    "thai": "สวัสดีชาวโลก",
    "cjk and beyond 16 bits": "漢字𠮷野家𩸽",
    "carriage returns": "a\r\nb\rc\n",
    "nul": "a\x00😀b",
    "byte order mark": "\ufeff😀",
}
texts = st.text(
    st.one_of(st.sampled_from("aé漢क😀𠮷\u200d\u0301\r\nم\x00"), st.characters(exclude_categories=["Cs"])), max_size=60
)


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@given(texts)
def test_every_offset_counts_the_utf16_units_before_it(text: str) -> None:
    offsets = range(len(text) + 1)
    assert code_points_to_utf16(text, offsets) == [utf16_length(text[:offset]) for offset in offsets]


@given(texts)
def test_conversion_there_and_back_is_the_identity(text: str) -> None:
    offsets = list(range(len(text) + 1))
    assert utf16_to_code_points(text, code_points_to_utf16(text, offsets)) == offsets


@given(texts, st.integers(-3, 130))
def test_a_single_offset_and_an_index_agree(text: str, offset: int) -> None:
    if 0 <= offset <= len(text):
        assert OffsetIndex(text).to_utf16(offset) == code_points_to_utf16(text, offset)
    else:
        with pytest.raises(InvalidInput, match="outside the text"):
            code_points_to_utf16(text, offset)


def test_an_offset_inside_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Offset 2 lies inside a character"):
        utf16_to_code_points("a😀b", 2)


def test_an_offset_behind_the_last_unit_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Offset 5 lies outside the text, which has 4 UTF-16 units"):
        utf16_to_code_points("a😀b", 5)


def test_lone_surrogates_count_one_unit_each() -> None:
    assert code_points_to_utf16("a\ud83d b😀", [2, 5]) == [2, 6]


def test_a_megabyte_of_emoji_converts() -> None:
    text = "ab😀" * 350_000
    assert OffsetIndex(text).to_utf16(len(text)) == 4 * 350_000
    assert utf16_to_code_points(text, 4 * 350_000 - 2) == len(text) - 1


# Converts every UTF-16 and code-point offset of each text, and one beyond, through both faces of the module.
_CONVERT_ALL = """
(texts, offsets) => texts.map((text) => {
  const attempt = (convert) => { try { return convert(); } catch (error) { return error.name; } };
  const index = new offsets.OffsetIndex(text);
  const units = [...Array(text.length + 2).keys()];
  const points = [...Array(index.length + 2).keys()];
  return {
    toCodePoints: units.map((unit) => attempt(() => offsets.toCodePoints(text, unit))),
    toUtf16: points.map((point) => attempt(() => offsets.toUtf16(text, point))),
    indexToCodePoints: units.map((unit) => attempt(() => index.toCodePoints(unit))),
    indexToUtf16: points.map((point) => attempt(() => index.toUtf16(point))),
  };
})
"""


def converted_in_node(node: str, texts: list[str]) -> Any:
    script = (
        f"import * as offsets from {json.dumps(MODULE.as_uri())};"
        "import { readFileSync } from 'node:fs';"
        f"console.log(JSON.stringify(({_CONVERT_ALL.strip()})(JSON.parse(readFileSync(0, 'utf8')), offsets)));"
    )
    done = subprocess.run(
        [node, "--input-type=module", "--no-warnings", "-e", script],
        input=json.dumps(texts), capture_output=True, encoding="utf-8", check=True, timeout=60,
    )  # fmt: skip
    return json.loads(done.stdout)


def converted_in_chromium(browser: Browser, texts: list[str]) -> Any:
    source = MODULE.read_text(encoding="utf-8")
    with browser.new_page() as page:
        return page.evaluate(
            "async ([source, texts]) => {"
            " const offsets = await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));"
            f" return ({_CONVERT_ALL.strip()})(texts, offsets); }}",
            [source, texts],
        )


def converted_in_python(text: str) -> dict[str, list[int | str]]:
    index = OffsetIndex(text)

    def attempt(convert: Any, offset: int) -> int | str:
        try:
            return int(convert(offset))
        except InvalidInput:
            return "RangeError"

    to_code_points = [attempt(index.to_code_points, unit) for unit in range(utf16_length(text) + 2)]
    to_utf16 = [attempt(index.to_utf16, point) for point in range(len(text) + 2)]
    return {
        "toCodePoints": to_code_points,
        "toUtf16": to_utf16,
        "indexToCodePoints": to_code_points,
        "indexToUtf16": to_utf16,
    }


def test_node_converts_as_python_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; Chromium runs the same comparison")
    result = converted_in_node(node, list(SAMPLES.values()))
    assert dict(zip(SAMPLES, result, strict=True)) == {
        name: converted_in_python(text) for name, text in SAMPLES.items()
    }


@settings(max_examples=1, deadline=None)
@given(st.lists(texts, min_size=200, max_size=200))
def test_node_converts_arbitrary_texts_as_python_does(many: list[str]) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; Chromium runs the same comparison")
    assert converted_in_node(node, many) == [converted_in_python(text) for text in many]


@pytest.mark.browser
def test_chromium_converts_as_python_does(browser: Browser) -> None:
    result = converted_in_chromium(browser, list(SAMPLES.values()))
    assert dict(zip(SAMPLES, result, strict=True)) == {
        name: converted_in_python(text) for name, text in SAMPLES.items()
    }
