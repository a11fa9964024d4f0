"""Datasets in the browser: upload, roles of columns, import and pages."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spanplat.db import Database
from spanplat.models import Job
from spanplat.services.datasets.listing import dataset_summary
from spanplat.services.datasets.uploads import import_upload
from spanplat.web.datasets import uploads

TABLE = b"id,model,prediction,grade\n1,a,Sunny <b>today</b>.,x\n2,a,Rain.,y\n1,b,Fog.,z\n"


@pytest.fixture
def uploaded(web_home: Path) -> Callable[[], set[str]]:
    """Names of the folders that hold uploads, without those of other tests."""
    folder = web_home / "uploads"

    def present() -> set[str]:
        return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()

    before = present()
    return lambda: present() - before


@pytest.fixture
def sender(researcher: Any) -> Any:
    """A researcher on the page of datasets."""
    researcher.get("/admin/datasets")
    return researcher


def send(visitor: Any, name: str, content: bytes) -> Any:
    data = {"csrf_token": visitor.token, "file": (io.BytesIO(content), name)}
    return visitor.client.post("/admin/datasets/uploads", data=data, content_type="multipart/form-data")


def finish(demo: Database, home: Path) -> None:
    """Do what the worker does."""
    with demo.reading() as session:
        payload = session.query(Job).filter(Job.kind == "import-dataset").one().payload
    import_upload(demo, home, payload["upload"], payload["dataset"], payload["columns"])


def test_a_table_is_looked_at_settled_imported_and_found(
    sender: Any, demo: Database, web_home: Path, uploaded: Callable[[], set[str]]
) -> None:
    page = send(sender, "weather.csv", TABLE).headers["Location"]
    shown = sender.get(page).text
    assert "Sunny &lt;b&gt;today" in shown
    assert "Not used: grade" in shown
    assert 'value="weather"' in shown
    changed = sender.get(f"{page}?text=grade&source=prediction").text
    assert '<span class="value-text" dir="auto">x</span>' in changed
    assert sender.post(page, name="Weather", text="prediction", system="model", key="id").status_code == 303
    waiting = sender.get(page)
    assert "waits for the worker" in waiting.text
    finish(demo, web_home)
    done = sender.get(page).text
    assert "Every row could be used" in done
    assert sender.get(page, HX_Request="true").headers["HX-Redirect"] == page
    with demo.reading() as session:
        assert dataset_summary(session, "weather").systems == {"a": 2, "b": 1}
    assert uploaded() == set()


def test_a_parquet_file_goes_the_same_way(sender: Any, demo: Database, web_home: Path) -> None:
    content = io.BytesIO()
    sources = [{"city": "Brno", "highs": [21, 23]}] * 2
    pq.write_table(
        pa.table({"id": [1, 1], "model": ["a", "b"], "output": ["Sun.", "Rain."], "source": sources}), content
    )
    page = send(sender, "forecasts.parquet", content.getvalue()).headers["Location"]
    shown = sender.get(page).text
    assert "Brno" in shown
    assert '<span class="value-text" dir="auto">Rain.</span>' in shown
    sender.post(page, name="forecasts")
    finish(demo, web_home)
    assert "Every row could be used" in sender.get(page).text
    with demo.reading() as session:
        assert dataset_summary(session, "forecasts").systems == {"a": 1, "b": 1}


def test_asking_twice_imports_once_and_an_imported_file_is_finished(
    sender: Any, demo: Database, web_home: Path
) -> None:
    page = send(sender, "weather.csv", TABLE).headers["Location"]
    sender.get(page)
    sender.post(page, name="weather")
    sender.post(page, name="weather")
    finish(demo, web_home)
    again = sender.post(page, name="weather")
    assert (again.status_code, "has been imported" in again.text) == (409, True)


def test_rows_that_cannot_be_used_are_shown_before_and_listed_afterwards(
    sender: Any, demo: Database, web_home: Path
) -> None:
    lines = b'{"id": "1", "output": "Sun."}\n{"id": "2", "output": 7}\nnot json\n'
    page = send(sender, "rows.jsonl", lines).headers["Location"]
    assert "line 2" in sender.get(page).text
    sender.post(page, name="rows")
    finish(demo, web_home)
    shown = sender.get(page).text
    assert "2 rows could not be used" in shown
    listed = sender.get(f"{page}/problems?format=csv").text
    assert "rows.jsonl, line 2" in listed
    assert str(web_home) not in listed


def test_a_file_without_a_text_column_says_what_to_choose(sender: Any) -> None:
    page = send(sender, "odd.csv", b"a,b\n1,2\n").headers["Location"]
    shown = sender.get(page).text
    assert "no column looks like the text" in shown
    assert ">Import<" not in shown
    assert ">Import<" in sender.get(f"{page}?text=b").text


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("picture.png", b"\x89PNG", "cannot be a dataset"),
        ("data.csv", b"", "is empty"),
        ("data.csv", b"a,b\0\n", "is not a text file"),
        ("data.zip", b"PK nonsense", "cannot be unpacked"),
        ("data.parquet", b"id,text\n", "data.parquet is not a Parquet file"),
        ("data.parquet", b"PAR1 and no more", "data.parquet is cut off"),
        ("../../etc/passwd", b"x", "cannot be a dataset"),
        ("x" * 300 + ".csv", b"id,text\n1,a\n", "has more than 200 characters"),
    ],
)
def test_what_is_no_dataset_is_refused_and_leaves_nothing(
    sender: Any, uploaded: Callable[[], set[str]], name: str, content: bytes, problem: str
) -> None:
    response = send(sender, name, content)
    assert (response.status_code, problem in response.text) == (422, True)
    assert uploaded() == set()


def test_a_file_that_is_too_large_is_refused(
    sender: Any, uploaded: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 1000)
    response = send(sender, "data.csv", b"x" * 2000)
    assert (response.status_code, "is larger than" in response.text) == (422, True)
    assert uploaded() == set()
    body, kind = b"x" * 1_100_000, "multipart/form-data; boundary=x"
    assert sender.client.post("/admin/datasets/uploads", data=body, content_type=kind).status_code == 413


def test_a_file_that_does_not_say_how_long_it_is_is_counted_while_it_comes(
    sender: Any, uploaded: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MOST_BYTES", 1000)
    response = sender.client.post(
        "/admin/datasets/uploads",
        environ_overrides={"wsgi.input_terminated": True},  # so do servers say that they stop at the end of chunks
        content_type="multipart/form-data; boundary=x",
        input_stream=io.BytesIO(b"a,b\n" * 500_000),
    )
    assert (response.status_code, "at most 1 MB are accepted here" in response.text) == (413, True)
    assert uploaded() == set()


def test_a_factgenie_folder_comes_as_a_zip_file(sender: Any, demo: Database, web_home: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inputs/hotels/test.json", '[{"name": "Sea View"}]')
        archive.writestr(
            "outputs/hotels/test/m.jsonl",
            '{"dataset": "hotels", "split": "test", "setup_id": "m", "example_idx": 0, "output": "A hotel."}\n',
        )
    page = send(sender, "hotels.zip", packed.getvalue()).headers["Location"]
    shown = sender.get(page).text
    assert "Sea View" in shown
    assert "A hotel." in shown
    sender.post(page)
    finish(demo, web_home)
    with demo.reading() as session:
        assert dataset_summary(session, "hotels").outputs == 1


def test_a_file_that_lies_on_the_server_is_offered_and_stays(sender: Any, demo: Database, web_home: Path) -> None:
    (web_home / "incoming").mkdir()
    (web_home / "incoming" / "weather.csv").write_bytes(TABLE)
    assert "<option>weather.csv</option>" in sender.get("/admin/datasets").text
    page = sender.post("/admin/datasets/uploads", incoming="weather.csv").headers["Location"]
    sender.get(page)
    sender.post(page, name="weather")
    finish(demo, web_home)
    assert (web_home / "incoming" / "weather.csv").exists()
    assert sender.post("/admin/datasets/uploads", incoming="../spanplat.sqlite3").status_code == 404


def test_a_file_is_thrown_away(sender: Any, uploaded: Callable[[], set[str]]) -> None:
    page = send(sender, "weather.csv", TABLE).headers["Location"]
    assert "weather.csv" in sender.get("/admin/datasets").text
    sender.get(page)
    assert sender.post(f"{page}/drop").status_code == 303
    assert uploaded() == set()
    assert sender.get(page).status_code == 404


def test_texts_are_filtered_and_paged(viewer: Any) -> None:
    first = viewer.get("/admin/datasets").text
    slug = re.search(r'/admin/datasets/([a-z-]+)"', first)
    assert slug is not None
    everything = viewer.get(f"/admin/datasets/{slug[1]}").text
    assert int(re.findall(r"(\d+) texts", everything)[0]) > 25
    assert 'rel="next"' in everything
    word = re.search(r'value-text" dir="auto">(\w+)', everything)
    assert word is not None
    assert word[1] in viewer.get(f"/admin/datasets/{slug[1]}?search={word[1]}").text
    assert "No text fits" in viewer.get(f"/admin/datasets/{slug[1]}?search=%25_nothing").text


def test_a_source_is_asked_for_when_it_is_opened(viewer: Any) -> None:
    page = viewer.get("/admin/datasets/demo").text
    found = re.search(r'hx-get="(/admin/datasets/demo/sources/\d+)" hx-trigger="toggle once"', page)
    assert found
    part = viewer.get(found[1], HX_Request="true").text
    assert "<dl" in part or "<table" in part or "<p" in part
    assert "<html" not in part
    whole = viewer.get(found[1]).text
    assert part.strip() in whole
    assert "<h1>Source</h1>" in whole
    assert viewer.get("/admin/datasets/demo/sources/999999").status_code == 404


def test_viewers_see_datasets_but_no_form(viewer: Any) -> None:
    assert "Add a dataset" not in viewer.get("/admin/datasets").text


def test_two_gigabytes_are_refused_before_they_are_sent(sender: Any, uploaded: Callable[[], set[str]]) -> None:
    response = sender.client.post(
        "/admin/datasets/uploads",
        environ_overrides={"CONTENT_LENGTH": str(2 * 1024**3)},
        content_type="multipart/form-data; boundary=x",
        input_stream=io.BytesIO(b"--x\r\n"),
    )
    assert (response.status_code, "too large" in response.text) == (413, True)
    assert uploaded() == set()


def test_a_file_in_another_encoding_says_how_to_save_it(sender: Any, web_home: Path) -> None:
    page = send(sender, "latin.csv", "id,text\n1,Café\n".encode("latin-1")).headers["Location"]
    response = sender.get(page)
    assert "Save it as UTF-8" in response.text
    assert "latin.csv" in response.text
    assert str(web_home) not in response.text
    assert ">Import<" not in response.text
