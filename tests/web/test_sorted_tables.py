"""Tables sorted and searched by the parameters of the address."""

import csv
import io
from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from spanplat.errors import InvalidInput
from spanplat.web.sorted_tables import Column, SortedTable, TablePage, TableView, number_column, time_column


class Fruit(NamedTuple):
    name: str
    price: float | None
    picked: datetime | None = None


FRUIT = [
    Fruit("Quince 10", 3.5, datetime(2026, 3, 1, tzinfo=UTC)),
    Fruit("Äpfel", None),
    Fruit("quince 9", -1.0, datetime(2026, 3, 2, tzinfo=UTC)),
    Fruit("=Pear", 3.5),
]
TABLE: SortedTable[Fruit] = SortedTable(
    {
        "name": Column("Name", lambda fruit: fruit.name),
        "price": number_column("Price", lambda fruit: fruit.price),
        "picked": time_column("Picked", lambda fruit: fruit.picked),
    }
)


@pytest.fixture
def application() -> Flask:
    """An application with one page."""
    app = Flask("fruit")
    app.add_url_rule("/fruit/<basket>", "fruit", lambda basket: basket)
    return app


def view(
    app: Flask, query: str = "", *, name: str = "fruit", per_page: int | None = None, beside: tuple[str, ...] = ()
) -> TableView[Fruit]:
    place = TablePage("fruit", {"basket": "red", "ripe": "yes"})
    with app.test_request_context(f"/fruit/red?{query}"):
        return TABLE.view(name, place, FRUIT, per_page, beside=beside)


def names(table: TableView[Fruit]) -> list[str]:
    return [fruit.name for fruit in table.rows]


def test_rows_stand_in_their_own_order_until_a_column_is_asked_for(application: Flask) -> None:
    assert names(view(application)) == ["Quince 10", "Äpfel", "quince 9", "=Pear"]


def test_texts_are_ordered_without_regard_to_case_and_accents_and_their_numbers_as_numbers(application: Flask) -> None:
    assert names(view(application, "sort=name")) == ["=Pear", "Äpfel", "quince 9", "Quince 10"]


def test_what_is_missing_comes_last_in_either_direction_and_equal_rows_keep_their_order(application: Flask) -> None:
    assert names(view(application, "sort=price-")) == ["Quince 10", "=Pear", "quince 9", "Äpfel"]
    assert names(view(application, "sort=price")) == ["quince 9", "Quince 10", "=Pear", "Äpfel"]
    assert names(view(application, "sort=picked-")) == ["quince 9", "Quince 10", "Äpfel", "=Pear"]


def test_a_column_that_does_not_exist_is_refused(application: Flask) -> None:
    with pytest.raises(InvalidInput, match="colour"):
        view(application, "sort=colour")


def test_words_are_found_in_any_column_without_regard_to_case_and_accents(application: Flask) -> None:
    assert names(view(application, "find=QUINCE")) == ["Quince 10", "quince 9"]
    assert names(view(application, "find=apfel")) == ["Äpfel"]
    assert names(view(application, "find=3.5")) == ["Quince 10", "=Pear"]
    nothing = view(application, "find=cherry")
    assert (nothing.found, nothing.total, names(nothing)) == (0, 4, [])


def test_a_long_table_has_pages(application: Flask) -> None:
    second = view(application, "sort=name&page=2", per_page=3)
    assert (names(second), second.shown.pages) == (["Quince 10"], 2)


def test_clicks_on_a_heading_lead_to_its_natural_direction_the_other_and_the_own_order(application: Flask) -> None:
    with application.test_request_context("/"):
        assert view(application).sorted_by("price") == "/fruit/red?ripe=yes&sort=price-"
        assert view(application, "sort=price-&find=e").sorted_by("price") == "/fruit/red?ripe=yes&sort=price&find=e"
        assert view(application, "sort=price").sorted_by("price") == "/fruit/red?ripe=yes"
        assert view(application, "sort=price").sorted_by("name") == "/fruit/red?ripe=yes&sort=name"


def test_several_tables_on_a_page_are_sorted_apart(application: Flask) -> None:
    query = "fruit.sort=name&nuts.sort=size-&nuts.find=wal"
    assert names(view(application, query, beside=("nuts",))) == ["=Pear", "Äpfel", "quince 9", "Quince 10"]
    with application.test_request_context(f"/fruit/red?{query}"):
        table = TABLE.view("fruit", TablePage("fruit", {"basket": "red"}), FRUIT, beside=("nuts",))
        assert table.sorted_by("name") == "/fruit/red?nuts.sort=size-&nuts.find=wal&fruit.sort=name-"
        assert table.finding() == ("/fruit/red", [("nuts.sort", "size-"), ("nuts.find", "wal")])


def test_the_rows_found_are_a_file_with_nothing_that_a_spreadsheet_runs(application: Flask) -> None:
    with application.test_request_context("/"):
        assert view(application, "sort=name&find=p").file() == "/fruit/red?ripe=yes&sort=name&find=p&download=fruit"
    with pytest.raises(HTTPException) as answered:
        view(application, "sort=name&find=p&download=fruit")
    response = answered.value.get_response()
    assert isinstance(response, Response)
    assert response.headers["Content-Disposition"] == "attachment; filename=fruit.csv"
    rows = list(csv.reader(io.StringIO(response.get_data(as_text=True))))
    assert rows == [["Name", "Price", "Picked"], ["'=Pear", "3.5", ""], ["Äpfel", "", ""]]


def test_a_download_of_another_table_is_left_to_that_table(application: Flask) -> None:
    assert len(view(application, "download=nuts").rows) == len(FRUIT)


def test_a_narrow_page_offers_every_order_in_words(application: Flask) -> None:
    with application.test_request_context("/"):
        assert view(application).orders()[:4] == [
            ("name", "Name ↑"),
            ("name-", "Name ↓"),
            ("price-", "Price ↓"),
            ("price", "Price ↑"),
        ]
