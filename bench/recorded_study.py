"""A reproducible study for recordings: every kind of campaign, created with commands and annotated over HTTP.

This module uses only commands and addresses, so that it works with two versions of spanplat that have different modules.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.standin.script import Answer, Call, Reply

STAND_IN_PORT = 48_417
"""Fixed port of the stand-in for a model provider: definitions contain it, and their hashes must be the same in every recording."""
ADMIN = "admin@example.org"
STARTER_DATA = ("translations", "hotels", "facts", "games", "sources")
STARTERS = (
    "data-to-text-qualification",
    "data-to-text-errors",
    "data-to-text-llm",
    "hotel-highlights-spans-short",
    "hotel-highlights-spans-long",
    "hotel-highlights-labels",
    "hotel-highlights-gauge",
    "many-sources",
    "rotowire-pairwise",
    "translation-esa",
    "translation-mqm",
    "webnlg-sliders",
)
PEOPLE = {
    "demo-people": 4,
    "data-to-text-qualification": 3,
    "data-to-text-errors": 2,
    "hotel-highlights-spans-short": 3,
    "hotel-highlights-spans-long": 1,
    "hotel-highlights-labels": 3,
    "many-sources": 2,
    "rotowire-pairwise": 3,
    "translation-esa": 2,
    "translation-mqm": 2,
    "webnlg-sliders": 3,
}
"""Number of people for a campaign. The first is careful; the last of three or more leaves in the middle."""
Run = Callable[..., str]
Request = Callable[..., "Response"]


class Response(NamedTuple):
    """Response of the server."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def answer_as_model(call: Call) -> Answer:
    """Answer a prompt with a reply of the required form; the reply depends only on the prompt."""
    random = Random(call.prompt)
    form = call.body.get("response_format") or {}
    schema = form.get("json_schema", {}).get("schema")
    words = re.findall(r"\b[A-Z]\w{3,}\b", call.prompt[-600:])
    if schema is None:
        return Reply("The text is accurate.\nError 1: none\n4", tokens=(100, 20, 0))
    return Reply(json.dumps(_filled(schema, words, random), ensure_ascii=False), tokens=(100, 20, 0))


def _filled(schema: Mapping[str, Any], words: Sequence[str], random: Random) -> Any:
    if "enum" in schema:
        return random.choice(schema["enum"])
    match schema["type"]:
        case "object":
            return {name: _filled(part, words, random) for name, part in schema["properties"].items()}
        case "array":
            return [_filled(schema["items"], words, random) for _ in range(random.randint(0, 3))]
        case "integer" | "number":
            return random.randint(1, 5)
        case "boolean":
            return random.random() < 0.5
        case _:
            return random.choice(words) if words else "nothing"


def load_demo(run: Run) -> None:
    """Create an empty home with a first user, and load the demo; ``run`` runs a command and records it."""
    run("init", "--admin", ADMIN, "--json")
    run("demo", "--no-serve", "--json")


def make_study(run: Run, checkout: Path, folder: Path) -> None:
    """Add every starter to the demo, and run the models.

    Parameters
    ----------
    run
        Performs a command; gives what it printed on standard output.
    checkout
        Where the shipped campaigns are read.
    folder
        For files that are made on the way.
    """
    run("user", "add", "viewer@example.org", "--role", "viewer", "--json")
    run("user", "password", "viewer@example.org", "--json")
    starters = checkout / "campaigns" / "starters"
    for name in STARTER_DATA:
        run("dataset", "import", starters / "data" / f"{name}.jsonl", "--name", name, "--json")
    for name in STARTERS:
        file = folder / f"{name}.yaml"
        text = (starters / f"{name}.yaml").read_text("utf-8")
        file.write_text(
            text.replace(
                "  provider: openai\n", f"  provider: openai\n  base_url: http://127.0.0.1:{STAND_IN_PORT}/v1\n"
            )
        )
        run("campaign", "create", file, "--dry-run", "--json")
        run("campaign", "create", file, "--json")
        run("campaign", "lint", name, "--json")
        run("campaign", "open", name, "--confirm", "--json")
    for name in ("data-to-text-llm", "hotel-highlights-gauge"):
        run("campaign", "prompt", name, "--json")
        run("campaign", "run", name, "--dry-run", "--json")
        run("campaign", "run", name, "--concurrency", "1", "--json")
    _generate(run, folder)
    _compare_models(run, folder)


def _generate(run: Run, folder: Path) -> None:
    file = folder / "generation.yaml"
    file.write_text(
        "slug: written\nsystem: written\ndataset: facts\nsplits: [test]\nlimit: 4\n"
        "model:\n  provider: openai\n  model: gpt-4o-mini\n  prompt: 'Write a text about {{ source_text }}'\n"
        f"  base_url: http://127.0.0.1:{STAND_IN_PORT}/v1\n"
    )
    run("generation", "create", file, "--json")
    run("generation", "run", "written", "--dry-run", "--json")
    run("generation", "run", "written", "--concurrency", "1", "--json")


def _compare_models(run: Run, folder: Path) -> None:
    file = folder / "study.yaml"
    file.write_text(
        "slug: prompts\ntitle: Two prompts\nlike: data-to-text-llm\ngold: demo-sample-a\n"
        "presets: [base, noreason]\nensemble: true\n"
    )
    run("study", "create", file, "--json")
    run("study", "run", "prompts", "--dry-run", "--json")
    run("study", "run", "prompts", "--concurrency", "1", "--json")


def look_at_study(run: Run, database: Path, folder: Path) -> None:
    """Run every reading command on every suitable campaign, with and without ``--json``."""
    run("pool", "add", "friends", "somebody", "else", "--from", "prolific")
    slugs = sorted(definitions(database))
    for way in ([], ["--json"]):
        for command in (["dataset", "list"], ["campaign", "list"], ["campaign", "protocols"], ["campaign", "starter"]):
            run(*command, *way)
        for command in (["generation", "list"], ["study", "list"], ["pool", "list"], ["study", "show", "prompts"]):
            run(*command, *way)
        for name in ("demo", *STARTER_DATA):
            run("dataset", "show", name, *way)
        run("generation", "show", "written", *way)
        run("campaign", "starter", "translation-mqm", *way)
        run("pool", "show", "friends", *way)
        for slug in slugs:
            for part in ("show", "checks", "lint", "people", "links", "prompt"):
                run("campaign", part, slug, *way)
            run("stats", slug, *way)
            run("qualify", slug, *way)
            run("campaign", "reparse", slug, "--dry-run", *way)
        _compare(run, way)
    run("campaign", "schema")
    for slug in slugs:
        for form in ("jsonl", "csv"):
            run("export", slug, "--format", form, "--output", "-")
    run("campaign", "training", "demo-overlap", "--output", folder / "training", "--json")


def _compare(run: Run, way: Sequence[str]) -> None:
    first, second, model = "demo-sample-a", "demo-sample-b", "demo-overlap"
    run("agreement", first, second, *way)
    run("agreement", first, model, "--by", "system", "--bootstrap", "50", "--matching", "greedy", *way)
    run("agreement", first, second, "--system", "marram", "--empty", "skip", "--offsets", "resolved", *way)
    run("agreement", "webnlg-sliders", "webnlg-sliders", "--ref-rule", "pairs", "--hyp-rule", "pairs", *way)
    run("leaderboard", first, second, model, "data-to-text-llm", *way)
    run("matrix", first, second, model, *way)
    run("systems", first, model, *way)
    run("sentinels", first, model, *way)
    run("campaign", "ensemble", "joined", "--of", model, "--of", "data-to-text-llm", "--dry-run", *way)


def change_study(run: Run, database: Path, folder: Path) -> None:
    """Run every command that changes data."""
    run("qualify", "data-to-text-qualification", "--decide", "--json")
    run("campaign", "ensemble", "joined", "--of", "prompts-base", "--of", "prompts-noreason", "--json")
    run("campaign", "reparse", "data-to-text-llm", "--json")
    run("campaign", "clone", "demo-people", "demo-people-again", "--json")
    run("campaign", "extend", "hotel-highlights-spans-short", "--per-output", "2", "--json")
    run("campaign", "pause", "webnlg-sliders", "--json")
    run("campaign", "close", "rotowire-pairwise", "--confirm", "--json")
    pseudonym = rows(
        database, "SELECT pseudonym FROM annotator WHERE source = 'prolific' AND external_id = 'worker-2'"
    )[0][0]
    run("campaign", "replace", "hotel-highlights-spans-short", pseudonym, "--reason", "careless", "--json")
    file = folder / "amended.yaml"
    text = (folder / "translation-mqm.yaml").read_text("utf-8")
    file.write_text(text.replace("title: Errors in", "title: All errors in"))
    run("campaign", "amend", "translation-mqm", file, "--note", "clearer", "--json")
    run("campaign", "links", "demo-people", "--base-url", "https://example.org", "--for", "ann", "--json")
    run("campaign", "pay", "hotel-highlights-spans-short", "--output", folder / "pay.csv")
    exported = folder / "people.jsonl"
    run("export", "demo-people", "--format", "jsonl", "--output", exported, "--json")
    arguments = ("campaign", "import", exported, "--slug", "back-again", "--format", "native")
    run(*arguments, "--definition", folder.parent / "none.yaml", "--json")
    run(*arguments, "--json")


def answer_campaigns(request: Request, database: Path) -> None:
    """Let people annotate every campaign for people; ``request`` sends their requests and records the responses."""
    made = definitions(database)
    for slug, count in PEOPLE.items():
        if slug not in made:
            continue
        definition = made[slug]
        for number in range(1, count + 1):
            Person(request, slug, definition, number, leaves=number == count > 2).take_part()


class Person:
    """A simulated participant whose answers depend only on their name and the texts."""

    def __init__(
        self, request: Request, slug: str, definition: Mapping[str, Any], number: int, *, leaves: bool
    ) -> None:
        self._request, self._slug, self._definition = request, slug, definition
        self._number, self._leaves = number, leaves
        self._page = ""

    def take_part(self) -> None:
        """Follow the link, and do what each page asks until the visit ends."""
        platform = self._definition["platform"]
        names = platform["parameters"]
        name = f"worker-{self._number}"
        session = f"{name}-{self._slug}"
        if platform["service"] == "prolific":
            query = {"PROLIFIC_PID": name, "STUDY_ID": "study", "SESSION_ID": session}
        else:
            query = {names["person"]: name, names["study"]: "study", names["session"]: session}
        if platform["ask_name"]:
            self._ask("GET", "start without a name", f"/c/{self._slug}/start")
            query = {"annotator": name}
        arrived = self._ask("GET", "start", f"/c/{self._slug}/start?{urlencode(query)}")
        if arrived.status != 303:
            return
        self._page = arrived.headers["location"]
        self._ask("GET", "page on arrival", self._page)
        self._agree()
        for number in range(1, len(self._definition["practice"]) + 1):
            self._answer_items(f"{self._page}/practice/{number}", "practice")
            self._ask("GET", "page after practice", self._page)
            self._ask("POST", "continue", f"{self._page}/practice/{number}/continue", {})
        self._ask("GET", "page at work", self._page)
        if self._leaves:
            self._save(self._page, 1, "work", status="draft")
            self._ask("POST", "withdraw", f"{self._page}/withdraw", {})
        else:
            self._answer_items(self._page, "work")
        self._ask("GET", "page at the end", self._page)
        self._ask("GET", "reloaded submission", f"{self._page}/submit")

    def _agree(self) -> None:
        consent, comprehension = self._definition["consent"], self._definition["comprehension"]
        if consent:
            self._ask("POST", "consent", f"{self._page}/consent", {"version": consent["version"], "agreed": "yes"})
            self._ask("GET", "page after consent", self._page)
        if comprehension:
            right = {question["key"]: _right_option(question) for question in comprehension["questions"]}
            wrong = {question["key"]: question["options"][-1]["key"] for question in comprehension["questions"]}
            tries = [right] if self._number == 1 else [wrong, right]
            for attempt, answers in enumerate(tries, 1):
                self._ask("POST", "comprehension", f"{self._page}/comprehension?attempt={attempt}", answers)

    def _answer_items(self, base: str, stage: str) -> None:
        listed = self._ask("GET", f"{stage} items", f"{base}/items")
        if listed.status != 200:
            return
        items = json.loads(listed.body)
        if stage == "work":
            self._save(base, 1, stage, status="draft")
            self._ask("POST", "submission too early", f"{base}/submit", {})
        for item in items:
            self._save(base, item["position"], stage, status="complete")
        self._ask("POST", f"{stage} submission", f"{base}/submit", {})

    def _save(self, base: str, position: int, stage: str, *, status: str) -> None:
        shown = self._ask("GET", f"{stage} item {position}", f"{base}/items/{position}")
        if shown.status != 200:
            return
        item = json.loads(shown.body)
        spans, answers = self._answer(item)
        body = {"revision": item["revision"], "status": status, "spans": spans, "answers": answers, "seconds": 12.5}
        self._ask("PUT", f"{stage} save {status} {position}", f"{base}/items/{position}", body)

    def _answer(self, item: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        random = Random(f"{self._number} {item['text']} {item['item']['aspect']}")
        spans = list(self._spans(item["text"], random)) if item["item"]["kind"] != "pair" else []
        answers = {}
        for question in self._definition["questions"]:
            answers[question["key"]] = _answer_to(question, random, marked=bool(spans))
        return spans, answers

    def _spans(self, text: str, random: Random) -> Iterator[dict[str, Any]]:
        categories = [one for one in self._definition["categories"] if one["side"] != "source"]
        if not categories:
            return
        for start, end, key in self._places(text, categories, random):
            category = next(one for one in categories if one["key"] == key)
            span: dict[str, Any] = {"start": start, "end": end, "category": key, "text": text[start:end]}
            if self._definition["severities"]:
                span["severity"] = random.choice(self._definition["severities"])["key"]
            if category["subcategories"]:
                span["subcategory"] = random.choice(category["subcategories"])["key"]
            if self._definition["spans"]["reason"] != "none":
                span["reason"] = "differs from the source"
            yield span

    def _places(
        self, text: str, categories: Sequence[Mapping[str, Any]], random: Random
    ) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and category: a careful person marks what the definition expects, others mark some words."""
        expected = (
            [place for place in _expected_places(self._definition) if place[0] in text] if self._number == 1 else []
        )
        for quote, key in expected:
            yield text.index(quote), text.index(quote) + len(quote), key
        if not expected:
            words = list(re.finditer(r"[\w,.]*\w", text))
            for word in sorted(
                random.sample(words, min(random.randint(0, 3), len(words))), key=lambda one: one.start()
            ):
                yield *word.span(), random.choice(categories)["key"]

    def _ask(self, method: str, title: str, path: str, content: Mapping[str, Any] | None = None) -> Response:
        return self._request(
            method, path, content, title=f"{self._slug} {self._number} {title}", is_json=method == "PUT"
        )


def _expected_places(definition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the quote and category of each span that a check or a practice item expects."""
    for check in [*definition["checks"], *definition["practice"]]:
        for span in [check["expected"]] if check.get("expected") else next(iter(check.get("golds") or [[]])):
            yield span["quote"], span["category"]


def _right_option(question: Mapping[str, Any]) -> str:
    """Return the key of the correct option of a comprehension question."""
    right = question["answer"]
    keys: list[str] = [option["key"] for option in question["options"] if right in (option["key"], option["label"])]
    return keys[0]


def _answer_to(question: Mapping[str, Any], random: Random, *, marked: bool) -> Any:
    match question["type"]:
        case "no_errors":
            return not marked
        case "checkbox":
            return random.random() < 0.5
        case "choice":
            return random.choice(question["options"])["key"]
        case "choices":
            return sorted(option["key"] for option in question["options"][: max(1, question["minimum"])])
        case "likert":
            return random.randint(1, question["points"])
        case "slider":
            return random.randint(int(question["minimum"]), int(question["maximum"]))
        case "preference":
            return random.choice(["first", "second"])
        case _:
            return random.choice(["", "A remark."])


def settle_times(database: Path) -> None:
    """Replace measured times, which differ each time, by constant values."""
    connection = sqlite3.connect(database, timeout=60)
    with connection:
        connection.execute("UPDATE annotation SET seconds = 12.5 WHERE seconds IS NOT NULL")
        for table in ("completion", "generation_call"):
            connection.execute(f"UPDATE {table} SET latency = 0.5 WHERE latency IS NOT NULL")  # noqa: S608
        connection.execute(
            "UPDATE assignment SET claimed_at = '2026-01-05 09:00:00.000000', submitted_at = '2026-01-05 09:20:00.000000' "
            "WHERE submitted_at IS NOT NULL"
        )
        connection.execute("UPDATE participation SET created_at = '2026-01-05 09:00:00.000000'")
    connection.close()


def definitions(database: Path) -> dict[str, Any]:
    """Return the definition of each campaign."""
    return {slug: json.loads(text) for slug, text in rows(database, "SELECT slug, definition FROM campaign")}


def rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; the file is opened read-only."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
