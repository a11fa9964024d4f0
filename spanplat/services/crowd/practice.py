"""Practice items before the work; the expected spans are shown only after the annotator has answered.

Practice is stored with the participation. It is not an annotation, so it enters no figures and no exports.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import Gone, InvalidInput, NotFound, user_message
from spanplat.models import Dataset, Example, Output, Participation, System
from spanplat.schemas.checks import PracticeItem
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.crowd.golds import CodedSpans, SpanScorer, coded_golds
from spanplat.services.crowd.pages import ItemState
from spanplat.services.crowd.requirements import ItemTexts, check_submission
from spanplat.services.crowd.saving import Saved, StaleRevision


@dataclass(frozen=True)
class Feedback:
    """Feedback on an answered practice item."""

    number: int
    total: int
    text: str
    marked: CodedSpans
    expected: CodedSpans
    """The acceptable set of spans that fits best."""
    score: float
    """Agreement of marked and expected characters (F1, with categories)."""
    explanation: str


def practice_number(definition: CampaignDefinition, participation: Participation) -> int:
    """Return the number, from 1, of the first practice item whose feedback the annotator has not read yet.

    Raises
    ------
    Gone
        If practice is over.
    """
    for number in range(1, len(definition.practice) + 1):
        if not _kept(participation, number).get("read"):
            return number
    raise Gone(user_message("practice is over"))


def is_answered(participation: Participation, number: int) -> bool:
    """Return whether a practice item was answered, so that the expected spans may be shown."""
    return bool(_kept(participation, number).get("answered"))


def practice_state(participation: Participation, number: int) -> ItemState:
    """Return the state of a practice item; its page has only this one item."""
    kept = _kept(participation, number)
    return ItemState(1, kept.get("status", "new"), kept.get("revision", 0))


def show_practice(
    session: Session, definition: CampaignDefinition, participation: Participation, number: int
) -> dict[str, Any]:
    """Return a practice item as the page's JSON, without the expected spans; see `spanplat.services.crowd.pages.show_item`.

    Raises
    ------
    NotFound
        If there is no practice item of this number.
    """
    text, source = _text_of(session, definition, number)
    kept = _kept(participation, number)
    return {
        "position": 1,
        "text": text,
        "source": source,
        "source_text": None,
        "item": {"kind": "output", "outputs": [{"text": text}], "aspect": None, "judged": None},
        "categories": [{"key": category.key, "name": category.name} for category in definition.categories],
        "spans": kept.get("spans", []),
        "suggestions": [],
        "dismissed": [],
        "answers": kept.get("answers", {}),
        "seconds": kept.get("seconds") or 0,
        "status": kept.get("status", "new"),
        "revision": kept.get("revision", 0),
    }


def practice_source(session: Session, definition: CampaignDefinition, number: int) -> Any:
    """Return the source of a practice item; None if it has none.

    Raises
    ------
    NotFound
        If there is no practice item of this number.
    """
    return _text_of(session, definition, number)[1]


def save_practice(
    session: Session, definition: CampaignDefinition, participation: Participation, number: int, submission: Submission
) -> Saved:
    """Store one save of a practice item; the same submission sent again gets the same answer.

    Raises
    ------
    NotFound
        If there is no practice item of this number.
    Gone
        If the item was answered before.
    StaleRevision
        If it was saved elsewhere since.
    TextMismatch, InvalidInput
        If the submission may not be stored.
    """
    kept = _kept(participation, number)
    content = submission.model_dump(mode="json", exclude={"revision"})
    revision: int = kept.get("revision", 0)
    # The page sends a save again if the answer got lost on the way.
    if revision == submission.revision + 1 and content == {name: kept.get(name) for name in content}:
        return Saved(revision)
    # The expected spans are shown after the answer, so a later change could copy them.
    if kept.get("answered"):
        raise Gone(user_message("this practice item was answered; reload the page to go on"))
    if submission.revision != revision:
        raise StaleRevision(revision)
    check_practice(session, definition, number, submission)
    _keep(participation, number, content | {"revision": revision + 1})
    session.flush()
    return Saved(revision + 1)


def check_practice(session: Session, definition: CampaignDefinition, number: int, submission: Submission) -> None:
    """Raise the error that a save of this submission on a practice item would raise; store nothing.

    Raises
    ------
    NotFound
        If there is no practice item of this number.
    TextMismatch, InvalidInput
        If the submission may not be stored.
    """
    text, _source = _text_of(session, definition, number)
    # Without source texts, because practice marks in the output only.
    check_submission(definition, ItemTexts([text], {}), submission)


def answer_practice(session: Session, participation: Participation, number: int) -> None:
    """Take the saved work as the answer; from now on the expected spans may be shown.

    Raises
    ------
    InvalidInput
        If the item is not complete.
    """
    kept = _kept(participation, number)
    if kept.get("answered"):
        return
    if kept.get("status") != "complete":
        raise InvalidInput(user_message("the practice item is not complete yet; go back and finish it"))
    _keep(participation, number, {**kept, "answered": True})
    session.flush()


def feedback_on(
    session: Session, definition: CampaignDefinition, participation: Participation, number: int
) -> Feedback:
    """Compare an answered practice item with the expected spans.

    Raises
    ------
    NotFound
        If the item is not answered yet, or there is no item of this number.
    """
    if not is_answered(participation, number):
        raise NotFound(user_message("this practice item is not answered yet"))
    keys = [category.key for category in definition.categories]
    marked = [
        (span["start"], span["end"], keys.index(span["category"]))
        for span in _kept(participation, number)["spans"]
        if span["side"] == "output"
    ]
    return _compare(session, definition, number, marked)


def expected_of(session: Session, definition: CampaignDefinition, number: int) -> Feedback:
    """Return the feedback on a practice item that is marked exactly as expected.

    Raises
    ------
    NotFound
        If there is no practice item of this number.
    """
    text, _source = _text_of(session, definition, number)
    first = coded_golds(definition, _practice(definition, number).golds, text)[:1]
    keys = [category.key for category in definition.categories]
    return _compare(session, definition, number, SpanScorer().best_gold(first, [], keys))


def _compare(session: Session, definition: CampaignDefinition, number: int, marked: CodedSpans) -> Feedback:
    practice = _practice(definition, number)
    text, _source = _text_of(session, definition, number)
    keys = [category.key for category in definition.categories]
    scorer = SpanScorer()
    expected = scorer.best_gold(coded_golds(definition, practice.golds, text), marked, keys)
    score = scorer.score([expected], [marked], keys)
    return Feedback(number, len(definition.practice), text, marked, expected, score, practice.explanation)


def go_on(
    session: Session, definition: CampaignDefinition, participation: Participation, number: int, now: datetime
) -> None:
    """Note that the feedback on an answered item was read; after the last item practice is over."""
    kept = _kept(participation, number)
    if not kept.get("answered"):
        return
    _keep(participation, number, {**kept, "read": True})
    if all(_kept(participation, other).get("read") for other in range(1, len(definition.practice) + 1)):
        # A second click keeps the first time.
        participation.practised_at = participation.practised_at or now
    session.flush()


def _practice(definition: CampaignDefinition, number: int) -> PracticeItem:
    if not 1 <= number <= len(definition.practice):
        raise NotFound(f"there is no practice item {number}")
    return definition.practice[number - 1]


def _text_of(session: Session, definition: CampaignDefinition, number: int) -> tuple[str, Any]:
    reference = _practice(definition, number).item
    dataset = definition.data.dataset if definition.data else ""
    row = session.execute(
        select(Output.text, Example.source)
        .join(Example, Example.id == Output.example_id)
        .join(Dataset, Dataset.id == Example.dataset_id)
        .join(System, System.id == Output.system_id)
        .where(
            Dataset.slug == dataset,
            Example.split == reference.split,
            Example.key == reference.example,
            System.slug == reference.system,
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"the text of practice item {number} is gone from the dataset")
    return row[0], row[1]


def _kept(participation: Participation, number: int) -> dict[str, Any]:
    kept: dict[str, Any] = (participation.practice or {}).get(str(number), {})
    return kept


def _keep(participation: Participation, number: int, content: dict[str, Any]) -> None:
    # A new dictionary, because SQLAlchemy does not notice changes inside the value of a JSON column.
    participation.practice = {**(participation.practice or {}), str(number): content}
