"""Tables of figures as files."""

import csv
import io
import json

from hypothesis import given
from hypothesis import strategies as st

from spanplat.formats.spreadsheets import FORMULA_STARTS
from spanplat.formats.tables import Cell, Table, to_csv, to_json, to_latex

cells = st.one_of(
    st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(st.characters(codec="utf-8"))
)


@given(st.lists(st.tuples(cells, cells), max_size=5))
def test_json_gives_back_the_rows(rows: list[tuple[Cell, Cell]]) -> None:
    read = json.loads(to_json(Table("t", ["a", "b"], rows)))["rows"]
    assert [(row["a"], row["b"]) for row in read] == rows


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_no_text_in_csv_begins_like_a_formula(text: str) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(Table("t", [text], [[text]])), newline="")))
    assert rows == [[rows[0][0]], [rows[0][0]]]
    assert not rows[0][0].startswith(FORMULA_STARTS)
    assert rows[0][0] == (f"'{text}" if text.startswith(("'", *FORMULA_STARTS)) else text)


def test_csv_keeps_full_precision_and_negative_numbers_are_numbers() -> None:
    assert to_csv(Table("t", ["x"], [[-0.1234567890123]])) == "x\r\n-0.1234567890123\r\n"


def test_latex_escapes_what_has_a_meaning_and_aligns_numbers() -> None:
    written = to_latex(Table("t", ["50 % & more", "γ"], [["a_b\\c", -0.12345], ["{x}", None]], "S∅ of #1"))
    assert r"\begin{tabular}{lr}" in written
    assert r"50 \% \& more & $\gamma$ \\" in written
    assert r"a\_b\textbackslash{}c & $-0.123$ \\" in written
    assert r"\{x\} & -- \\" in written
    assert r"\caption{S$\emptyset$ of \#1}" in written
