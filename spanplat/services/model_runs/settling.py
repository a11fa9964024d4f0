"""Items that nobody needs to be asked about: their answer follows from what is known."""

from collections.abc import Sequence
from datetime import UTC, datetime

from spanplat.db import Database
from spanplat.models import CampaignStatus
from spanplat.services.importing.storing import chunked
from spanplat.services.model_runs.plan import RunPlan
from spanplat.services.model_runs.questions import (
    Question,
    claim,
    load_questions,
    lock_campaign,
    open_questions,
)
from spanplat.services.model_runs.recording import Outcome, Read, Recorder

AT_ONCE = 100


def unsettled(plan: RunPlan, questions: Sequence[Question]) -> list[Question]:
    """Return the questions that have to be asked."""
    return [question for question in questions if plan.dialogue.settled(question.item) is None]


def settle(database: Database, plan: RunPlan, recorder: Recorder) -> None:
    """Store the annotations of all items whose answer is known without asking: nothing is called, and nothing is paid.

    So it is where a consolidator would be told of no error at all. Items that another worker holds are left to it.

    Raises
    ------
    InvalidInput
        If no member of the ensemble has judged an item.
    """
    if not plan.settings.consolidates:
        return
    since = datetime.now(UTC)
    with database.reading() as session:
        free = open_questions(session, plan.campaign.id, since).free
    for keys in chunked(free, AT_ONCE):
        with database.reading() as session:
            questions = load_questions(session, plan.definition, keys)
        known = {
            question.key: Read(Outcome(question), reading)
            for question in questions
            if (reading := plan.dialogue.settled(question.item)) is not None
        }
        if not known:
            continue
        with database.transaction() as session:
            if lock_campaign(session, plan.campaign.id) != CampaignStatus.OPEN:
                return
            mine = claim(session, plan.campaign.id, recorder.worker, [(key, 0.0) for key in known], since=since)
            recorder.store(session, [known[key] for key in known if key in mine])
