"""No secret gets into the database, a log, an export, a page or a message: the tests plant keys and search for them."""

import json
import logging
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import select

from spanplat.cli.database import open_database
from spanplat.formats.exports import EXPORT_FORMATS
from spanplat.models import Base, Role, User
from spanplat.services.background import jobs
from spanplat.settings import Settings
from spanplat.web.accounts.sign_in import StaffMember
from spanplat.web.app import create_app
from spanplat.worker.handlers import HANDLERS
from spanplat.worker.performing import Performer
from tests.standin.script import Answer, Call, Raw, Reply, Trouble, always
from tests.standin.server import StandIn

Run = Callable[..., Result]
MARK = "planted"
IN_ENVIRONMENT = {
    "OPENAI_API_KEY": f"{MARK}-openai-4f1d9c2b",
    "OPENAI_ADMIN_KEY": f"{MARK}-admin-77a0",
    "PROLIFIC_API_TOKEN": f"{MARK}-prolific-1c2d",
    "AWS_SECRET_ACCESS_KEY": f"{MARK}-mturk-9e8f",
    "SPANPLAT_SECRET_KEY": f"{MARK}-session-5a6b7c8d9e0f",
}
IN_FILE = {"ANTHROPIC_API_KEY": f"{MARK}-anthropic-0d3e"}
TEXTS = ["It rains in Brno.", "The boat leaves at noon.", "Bread costs nothing.", "The bridge is shut."]


@pytest.fixture(autouse=True)
def planted(home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Plant keys in the environment and in ``.env``, and log everything."""
    for name, value in IN_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (home.parent / ".env").write_text("".join(f"{name}={value}\n" for name, value in IN_FILE.items()))
    caplog.set_level(logging.DEBUG)


@pytest.fixture
def echo() -> Iterator[StandIn]:
    """A provider that repeats the key it got in everything it says: in errors of all kinds, in streams, and in replies."""

    def answer(call: Call) -> Answer:
        said = f"Incorrect API key provided: {call.headers.get('authorization')} ({call.headers.get('x-api-key')})"
        answers: list[Answer] = [
            Trouble(400, said, "invalid_request"),
            Trouble(500, said, said, within=True),
            Raw(said, "text/html"),
            Reply(json.dumps({"annotations": [{"text": said, "category": "Wrong", "reason": said}]}), reasoning=said),
        ]
        return next(
            (answer for text, answer in zip(TEXTS, answers, strict=True) if text in call.prompt), Trouble(401, said)
        )

    with StandIn(answer) as server:
        yield server


def prepare(run: Run, folder: Path, standin: StandIn) -> list[str]:
    """Create model campaigns that ask the stand-in through every interface, whole and as streams; return their names."""
    run("init")
    lines = [
        json.dumps({"dataset": "notes", "split": "test", "example_idx": number, "setup_id": "fir", "output": text})
        for number, text in enumerate(TEXTS)
    ]
    (folder / "notes.jsonl").write_text("\n".join(lines), "utf-8")
    run("dataset", "import", folder / "notes.jsonl", "--name", "notes")
    names = []
    for provider, address in (("openai", f"{standin.url}/v1"), ("anthropic", standin.url)):
        for stream in (False, True):
            name = f"{provider}-{'stream' if stream else 'whole'}"
            content = {
                "slug": name,
                "title": name,
                "kind": "llm",
                "categories": [{"name": "Wrong"}],
                "data": {"dataset": "notes"},
                "model": {
                    "provider": provider,
                    "model": "tiny",
                    "base_url": address,
                    "key_variable": f"{provider.upper()}_API_KEY",
                    "attempts": 1,
                    "stream": stream,
                },
            }
            (folder / f"{name}.yaml").write_text(json.dumps(content), "utf-8")
            run("campaign", "create", folder / f"{name}.yaml")
            names.append(name)
    return names


def pages(app: Flask, slug: str) -> Iterator[tuple[str, str]]:
    """Visit every page there is as an administrator; yield address and content."""
    client = app.test_client()
    with open_database() as database, database.reading() as session:
        user = session.scalars(select(User).where(User.role == Role.ADMIN)).one()
    with client.session_transaction() as cookie:
        cookie["_user_id"] = StaffMember.of(user).get_id()
    adapter = app.url_map.bind("localhost")
    examples: dict[str, Any] = {"slug": slug, "token": "unknown", "extension": "csv"}
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or set()):
            address = adapter.build(rule.endpoint, {name: examples.get(name, 1) for name in rule.arguments})
            response = client.get(address, follow_redirects=True)
            yield address, f"{response.headers}{as_text(response.get_data())}"


def as_text(content: bytes) -> str:
    """Return what a page or a file says, that of an archive unpacked."""
    if not is_zipfile(BytesIO(content)):
        return content.decode("utf-8")
    with ZipFile(BytesIO(content)) as archive:
        return "".join(f"{name}{archive.read(name).decode('utf-8')}" for name in archive.namelist())


def test_planted_keys_are_found_nowhere(
    run: Run, home: Path, echo: StandIn, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    names = prepare(run, tmp_path, echo)
    run("user", "add", "admin@example.org", "--role", "admin")
    said: dict[str, str] = {}
    for name in names:
        said[f"run {name}"] = run("campaign", "run", name).output
        said[f"again {name}"] = run("campaign", "run", name, "--json").output
        for command in (("campaign", "show"), ("stats",), ("campaign", "reparse")):
            said[f"{command} {name}"] = run(*command, name).output
        for form in (entry.name for entry in EXPORT_FORMATS):
            run("export", name, "--format", form, "--output", tmp_path / f"{name}.{form}")
            said[f"{form} {name}"] = (tmp_path / f"{name}.{form}").read_text("utf-8")
    assert any(MARK in str(call.headers) for call in echo.ledger.calls), "the keys were sent"
    assert "[key hidden]" in said["run openai-whole"]

    echo.script = lambda call: Trouble(401, f"Incorrect API key provided: {call.headers.get('authorization')}")
    for name in names:
        said[f"refused {name}"] = run("campaign", "run", name, status=1).output
        assert "the key is not valid" in said[f"refused {name}"]
    with open_database() as database:
        with database.transaction() as session:
            job = jobs.enqueue(session, "run-campaign", f"run-campaign:{names[0]}", {"campaign": names[0]})
        Performer(database, HANDLERS, "tester").perform(job.id)
        with database.reading() as session:
            assert "the key is not valid" in str(jobs.find_job(session, job.id).error)
            for table in Base.metadata.sorted_tables:
                said[f"table {table.name}"] = str(session.execute(select(table)).all())
    with open_database() as database:
        app = create_app(Settings(home=home, _env_file=None), database)
        said |= {f"{name} {address}": text for name in names for address, text in pages(app, name)}
    said["log"] = caplog.text
    assert [where for where, text in said.items() if MARK in text] == []
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if MARK.encode() in path.read_bytes()] == []


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "mysql"])
def test_the_password_of_a_database_that_does_not_answer_is_not_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, scheme: str
) -> None:
    monkeypatch.setenv("SPANPLAT_DATABASE_URL", f"{scheme}://someone:{MARK}-password@127.0.0.1:9/spanplat")
    output = run("campaign", "list", status=1).output
    assert output
    assert MARK not in output + caplog.text


def test_a_key_in_a_definition_is_refused_without_repeating_it(run: Run, tmp_path: Path) -> None:
    run("init")
    model = {"provider": "openai", "model": "tiny", "base_url": f"https://someone:{MARK}@example.org/v1"}
    for settings in (model, {**model, "base_url": None, "parameters": {"api_key": MARK}}, {**model, "api_key": MARK}):
        content = {"slug": "x", "title": "x", "kind": "llm", "categories": [{"name": "Wrong"}], "model": settings}
        (tmp_path / "x.yaml").write_text(json.dumps({**content, "data": {"dataset": "notes"}}), "utf-8")
        output = run("campaign", "create", tmp_path / "x.yaml", status=1).output
        assert "base_url" in output or "api_key" in output
        assert MARK not in output


def test_a_key_variable_that_holds_no_key_of_a_model_cannot_be_named(run: Run, tmp_path: Path, echo: StandIn) -> None:
    echo.script = always(Reply())
    run("init")
    for variable in ("SPANPLAT_SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "PROLIFIC_API_TOKEN", "HOME"):
        model = {"provider": "openai", "model": "tiny", "base_url": echo.url, "key_variable": variable}
        content = {"slug": "x", "title": "x", "kind": "llm", "categories": [{"name": "Wrong"}], "model": model}
        (tmp_path / "x.yaml").write_text(json.dumps({**content, "data": {"dataset": "notes"}}), "utf-8")
        assert "key_variable" in run("campaign", "create", tmp_path / "x.yaml", status=1).output
    assert echo.ledger.calls == []
