"""Study in which each value that annotators must not see is a unique word, so that tests can search for it."""

from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.models import (
    Annotation,
    Annotator,
    Assignment,
    BatchItem,
    CampaignStatus,
    Dataset,
    Example,
    Item,
    ItemOutput,
    Output,
    Participation,
    Role,
    System,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.accounts.users import add_user
from spanplat.services.campaigns.amendments import put_in_force
from spanplat.services.campaigns.lifecycle import find_campaign, set_status
from spanplat.services.campaigns.planning import plan_campaign
from spanplat.services.model_work.running import run_campaign
from spanplat.text import sha256_of
from tests.campaigns import create_campaign

CHECKED = "Text-checked says that the ferry flies at noon."
PRACTISED = "Text-practised says that snow falls in July."
REGULAR = ("Text-first says that the pool is warm.", "Text-second says that the yard is quiet.")
CHECK_QUOTE, PRACTICE_QUOTE = "ferry flies", "in July"
ANN = {"PROLIFIC_PID": "ann", "STUDY_ID": "study", "SESSION_ID": "session-of-ann"}
UNDERSTOOD = {"what-do-you-mark": "errors"}
FLOOR_SECONDS = 0.0123
CODES = {
    "completed": "CODE-COMPLETED",
    "screened_out": "CODE-SCREENED",
    "failed_attention": "CODE-INATTENTIVE",
    "no_consent": "CODE-DECLINED",
}
NEVER = (
    "planted-blatant",
    "planted-instructed",
    "planted-floor",
    "must_mark",
    "on_fail",
    "golds",
    str(FLOOR_SECONDS),
    "planted-system",
    "planted-guest",
    "planted-model",
    "Thoughts-of-the-model",
    "Reason-of-bob",
    "Answer-of-bob",
    "Note-of-the-researcher",
    "planted@example.org",
    "person-bob",
    "session-of-bob",
    CHECK_QUOTE,
)
"""What no annotator is ever shown; the quote apart from the text in which it stands."""


def _reference(number: int) -> dict[str, str]:
    return {"split": "test", "example": str(number), "system": "planted-system"}


def _definition(**parts: Any) -> CampaignDefinition:
    content: dict[str, Any] = {
        "slug": "study",
        "title": "A study",
        "categories": [{"name": "Wrong"}, {"name": "Unclear"}],
        "spans": {"reason": "optional"},
        "data": {"dataset": "reports"},
        "annotators": {"per_output": 2, "invited": ["ann", "person-bob", "cleo", "dora", "planted-guest"]},
        "batches": {"regular": 1, "attention": 1},
        "consent": {"text": "We ask you to mark errors."},
        "comprehension": {
            "questions": [{"label": "What do you mark?", "options": ["Errors", "Names"], "answer": "Errors"}]
        },
        "practice": [
            {
                "item": _reference(1),
                "golds": [[{"quote": PRACTICE_QUOTE, "category": "wrong"}]],
                "explanation": "Explained-afterwards.",
            }
        ],
        "questions": [
            {"type": "choice", "label": "Choose the second", "options": ["One", "Two"], "required": False},
            {"type": "text", "label": "Comment", "required": False},
        ],
        "checks": [
            {
                "name": "planted-blatant",
                "type": "must_mark",
                "item": _reference(0),
                "expected": {"quote": CHECK_QUOTE, "category": "wrong"},
                "on_fail": "screen_out",
                "message": "Message-screened-out.",
            },
            {"name": "planted-instructed", "type": "instructed", "question": "choose-the-second", "answer": "two"},
            {"name": "planted-floor", "type": "min_seconds", "seconds": FLOOR_SECONDS, "on_fail": "exclude"},
        ],
        "platform": {"service": "prolific", "codes": CODES, "minutes": 4},
    }
    return CampaignDefinition.model_validate(content | parts)


def plant(database: Database, client: FlaskClient) -> None:
    """Open the study, let a model annotate its texts, and let Bob do a batch."""
    with database.transaction() as session:
        _store_texts(session)
        create_campaign(session, plan_campaign(session, _definition()))
        set_status(session, "study", CampaignStatus.OPEN)
        campaign = find_campaign(session, "study")
        put_in_force(session, campaign, _definition(final_message="You helped."), "Note-of-the-researcher")
        model = {"slug": "planted-model", "kind": "llm", "checks": [], "practice": [], "model": {"provider": "overlap"}}
        create_campaign(session, plan_campaign(session, _definition(**model, batches={"regular": 4}, annotators={})))
        set_status(session, "planted-model", CampaignStatus.OPEN)
        add_user(session, "planted@example.org", Role.RESEARCHER)
    run_campaign(database, "planted-model")
    with database.transaction() as session:
        session.execute(update(Annotation).values(extra={"reasoning": "Thoughts-of-the-model"}))
    bob = work_address(client, PROLIFIC_PID="person-bob", SESSION_ID="session-of-bob")
    answer_items(client, bob, reason="Reason-of-bob", comment="Answer-of-bob")
    assert CODES["completed"] in client.post(f"{bob}/submit").text


def _store_texts(session: Session) -> None:
    dataset, system = Dataset(slug="reports", name="reports"), System(slug="planted-system", name="planted-system")
    session.add_all([dataset, system])
    session.flush()
    for number, text in enumerate((CHECKED, PRACTISED, *REGULAR)):
        example = Example(dataset_id=dataset.id, split="test", key=str(number), source={"fact": f"fact {number}"})
        session.add(example)
        session.flush()
        session.add(Output(example_id=example.id, system_id=system.id, text=text, text_sha256=sha256_of(text)))
    session.flush()


def arrive(client: FlaskClient, **parameters: str) -> str:
    """Come through the start link; returns the address of the annotator's page."""
    return client.get("/c/study/start", query_string=ANN | parameters).location or ""


def work_address(client: FlaskClient, **parameters: str) -> str:
    """Come, and pass everything that stands before the work."""
    address = arrive(client, **parameters)
    client.post(f"{address}/consent", data={"agreed": "yes"})
    client.post(f"{address}/comprehension", data=UNDERSTOOD)
    practise(client, address)
    client.post(f"{address}/practice/1/continue")
    assert client.get(f"{address}/items").status_code == 200
    return address


def practise(client: FlaskClient, address: str) -> None:
    """Answer the practice item, with nothing marked."""
    client.put(f"{address}/practice/1/items/1", json={"revision": 0, "status": "complete"})
    client.post(f"{address}/practice/1/submit")


def answer_items(
    client: FlaskClient, address: str, *, reason: str = "", comment: str = "", choice: str = "two"
) -> None:
    """Complete both items as the checks expect it, but for the instructed question if another choice is given."""
    for position in (1, 2):
        answer_item(client, address, position, reason=reason, comment=comment, choice=choice)


def answer_item(
    client: FlaskClient, address: str, position: int, *, reason: str = "", comment: str = "", choice: str = "two"
) -> None:
    """Complete one item; of the checked text all is marked, and so what is expected is."""
    text = (client.get(f"{address}/items/{position}").json or {})["text"]
    end = len(text) if text == CHECKED else 4
    span = {"start": 0, "end": end, "category": "wrong", "text": text[:end], "reason": reason or None}
    answers = {"choose-the-second": choice, "comment": comment}
    body = {"revision": 0, "status": "complete", "spans": [span], "answers": answers, "seconds": 9}
    assert client.put(f"{address}/items/{position}", json=body).status_code == 200


def checked_position(client: FlaskClient, address: str) -> int:
    """Return where the item with the check stands."""
    texts = {position: (client.get(f"{address}/items/{position}").json or {})["text"] for position in (1, 2)}
    return next(position for position, text in texts.items() if text == CHECKED)


def secrets_of(database: Database) -> dict[str, str]:
    """Return what must not be found now in anything that Ann gets, with the reason why it must not."""
    with database.reading() as session:
        ann = session.scalars(
            select(Participation)
            .where(Participation.session_key.contains(ANN["SESSION_ID"]))
            .order_by(Participation.id.desc())
        ).first()
        assert ann is not None
        seats = session.scalars(select(Assignment).where(Assignment.participation_id == ann.id)).all()
        given = set(
            session.scalars(
                select(Output.text)
                .join(ItemOutput, ItemOutput.output_id == Output.id)
                .join(Item, Item.id == ItemOutput.item_id)
                .join(BatchItem, BatchItem.item_id == Item.id)
                .where(BatchItem.batch_id.in_([seat.batch_id for seat in seats]))
            )
        )
        others = session.execute(
            select(Participation.token, Annotator.pseudonym)
            .join(Annotator, Annotator.id == Participation.annotator_id)
            .where(Participation.id != ann.id)
        ).all()
        practice: dict[str, Any] = (ann.practice or {}).get("1", {})
        outcome = next((seat.outcome for seat in seats if seat.outcome is not None), None)
        earned = "no_consent" if ann.ended in ("no_consent", "withdrawn") else outcome
        pseudonym = ann.annotator.pseudonym
        passed = ann.comprehension_passed_at is not None
    secret = dict.fromkeys(NEVER, "shown to nobody")
    secret |= {code: f"the code for {name}" for name, code in CODES.items() if name != earned}
    secret |= {name: "another person" for row in others for name in row}
    secret |= {pseudonym: "stands for Ann in exports only"}
    secret |= {text: "a text not given to Ann" for text in (CHECKED, *REGULAR) if text not in given}
    if earned != "screened_out":
        secret["Message-screened-out"] = "said to whom a check stopped"
    if not passed:
        secret[PRACTISED] = "practice begins after the questions"
    if not practice.get("answered"):
        secret |= dict.fromkeys(("Explained-afterwards", PRACTICE_QUOTE), "practice is not answered")
    return secret


def body_variants() -> list[dict[str, Any]]:
    """Return what a request may carry: nothing, every field of every form, saves right and wrong."""
    form = {"agreed": "yes", **UNDERSTOOD, "page": "done", "number": "1", "group": "1"}
    right = {"revision": 0, "status": "complete", "spans": [], "answers": {}, "seconds": 9}
    outside = {"start": 0, "end": 9999, "category": "wrong", "text": "x"}
    wrong = {**right, "spans": [{**outside, "category": "nonsense"}, outside]}
    return [
        {},
        {"data": form},
        {"json": right},
        {"json": wrong},
    ]
