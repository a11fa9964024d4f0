"""Static files: one digest in every address, compressed, cached for ever."""

import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from spanplat.web.static_files import init_app, tree_digest


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a script that imports another."""
    folder = tmp_path / "static"
    (folder / "js" / "parts").mkdir(parents=True)
    (folder / "js" / "main.js").write_text('import "./parts/one.js";\n' * 100)
    (folder / "js" / "parts" / "one.js").write_text("export {};\n")
    return folder


def _serve(source: Path, cache: Path) -> tuple[Flask, FlaskClient]:
    app = Flask("static", static_folder=None)
    init_app(app, source, cache)
    return app, app.test_client()


def _url(app: Flask, path: str) -> str:
    url: str = app.jinja_env.globals["static_url"](path)  # type: ignore[operator]
    return url


def test_files_are_cached_for_ever_under_the_digest_of_the_tree(source: Path, tmp_path: Path) -> None:
    app, client = _serve(source, tmp_path / "cache")
    url = _url(app, "js/main.js")
    assert url == f"/static/{tree_digest(source)}/js/main.js"
    with client.get(url) as response:
        assert response.headers["Cache-Control"] == "max-age=315360000, public, immutable"
        assert response.headers["Content-Type"].startswith("text/javascript")
        assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_a_relative_import_stays_under_the_same_digest(source: Path, tmp_path: Path) -> None:
    app, client = _serve(source, tmp_path / "cache")
    with client.get(_url(app, "js/main.js").replace("main.js", "parts/one.js")) as response:
        assert response.get_data(as_text=True) == "export {};\n"


@pytest.mark.parametrize(
    "wanted",
    ["", "js", "js/", "../secret", "%2e%2e/secret", "js/..%2f../secret", "/secret", "../../secret", "..\\secret"],
)
def test_no_folder_is_listed_and_nothing_outside_is_served(source: Path, tmp_path: Path, wanted: str) -> None:
    app, client = _serve(source, tmp_path / "cache")
    for outside in (tmp_path, tmp_path / "cache"):
        (outside / "secret").write_text("of the house")
    folder = _url(app, "js/main.js").removesuffix("js/main.js")
    with client.get(f"{folder}{wanted}") as response:
        assert response.status_code == 404
        assert "main.js" not in response.get_data(as_text=True)
        assert "of the house" not in response.get_data(as_text=True)


def test_stylesheets_hold_what_they_import_at_its_place(source: Path, tmp_path: Path) -> None:
    (source / "css").mkdir()
    (source / "css" / "tokens.css").write_text(":root { --space: 1rem; }\n")
    (source / "css" / "source.css").write_text('@import "./tokens.css";\n.source { color: red; }\n')
    (source / "css" / "page.css").write_text('/* Page */\n@import "./source.css";\nbody { margin: 0; }\n')
    app, client = _serve(source, tmp_path / "cache")
    with client.get(_url(app, "css/page.css")) as response:
        assert response.get_data(as_text=True) == (
            "/* Page */\n:root { --space: 1rem; }\n\n.source { color: red; }\n\nbody { margin: 0; }\n"
        )


@pytest.mark.parametrize("encoding", ["br", "gzip"])
def test_files_are_compressed_once_in_advance(source: Path, tmp_path: Path, encoding: str) -> None:
    app, client = _serve(source, tmp_path / "cache")
    with client.get(_url(app, "js/main.js"), headers={"Accept-Encoding": encoding}) as response:
        assert response.headers["Content-Encoding"] == encoding
        assert int(response.headers["Content-Length"]) < 200


def test_a_second_start_with_the_same_files_prepares_nothing(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    _serve(source, cache)
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    _serve(source, cache)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before


def test_a_change_anywhere_changes_every_address_and_old_ones_go_in_time(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    addresses = set()
    for number in range(5):
        (source / "js" / "parts" / "one.js").write_text(f"export const number = {number};\n")
        addresses.add(_url(_serve(source, cache)[0], "js/main.js"))
    assert len(addresses) == 5
    assert len(list(cache.iterdir())) == 3


def test_a_misspelt_file_is_found_when_the_page_is_rendered(source: Path, tmp_path: Path) -> None:
    app, _client = _serve(source, tmp_path / "cache")
    with pytest.raises(FileNotFoundError, match=r"no static file js/mian\.js"):
        _url(app, "js/mian.js")


def test_names_and_contents_cannot_be_exchanged_without_notice(tmp_path: Path) -> None:
    for folder, name, content in (("one", "ab", "c"), ("two", "a", "bc")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(content)
    assert tree_digest(tmp_path / "one") != tree_digest(tmp_path / "two")


def test_every_module_imports_files_that_exist(app: Flask, stranger: Any) -> None:
    with stranger.client.get(_url(app, "js/studio/main.js")) as response:
        imported = re.findall(r'from "\./([^"]+)"', response.get_data(as_text=True))
    assert imported
    for name in imported:
        with stranger.client.get(_url(app, f"js/studio/{name}")) as response:
            assert response.status_code == 200
