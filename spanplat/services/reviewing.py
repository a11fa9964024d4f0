"""Files for deciding on submissions on the platform: whose work to approve, and whose the platform's rules let one reject, and why.

Nothing here decides by itself. Work that was submitted and stands is to be approved, whatever a hidden check found in it. A reason to
reject is only what platforms accept as one: instructed questions answered otherwise, as often as their rules ask for. Work that the
researcher set aside stands in neither file: why is their own matter, and theirs to decide with the platform.
"""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.formats.spreadsheets import write_csv
from spanplat.models import Assignment, Campaign, CheckResult, Participation
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.checks import SHORT_STUDY_MINUTES, failures_to_reject
from spanplat.services.definitions import definition_of
from spanplat.services.pay import Person, list_people, platform_ids

MTURK_COLUMNS = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject")
"""Of a file of reviewed results: an X under ``Approve``, or the reason, which the worker reads, under ``Reject``."""
REJECTION_COLUMNS = ("platform_id", "submission", "reason")


def approvals_file(session: Session, campaign: Campaign) -> str:
    """Write whose submissions to approve: for MTurk its reviewed results, elsewhere the platform's ids of people, one a line.

    Those are the people whose submitted work stands and who did not leave with the code for failed attention. MTurk has no other
    way to pay than approval, so that there it includes those whom a check screened out; elsewhere their code says what they get.

    Raises
    ------
    InvalidInput
        If the campaign's people come from no platform.
    """
    service = _require_platform(campaign)
    approved = [person for person in list_people(session, campaign) if is_to_be_approved(person, service)]
    ids = platform_ids(session, campaign)
    if service != "mturk":
        return write_csv([(who,) for who in dict.fromkeys(ids[person.participation_id][0] for person in approved)])
    return _reviewed_on_mturk(session, campaign, [(person, "X", "") for person in approved])


def rejections_file(session: Session, campaign: Campaign) -> str:
    """Write whose submissions the platform's rules let one reject, with the reason; look at each before it is used.

    Raises
    ------
    InvalidInput
        If the campaign's people come from no platform.
    """
    service = _require_platform(campaign)
    failures = _instructions_failed(session, campaign)
    definition = definition_of(campaign)
    found = [
        (person, _reason(definition, failures[person.participation_id]))
        for person in list_people(session, campaign)
        if person.outcome == "failed_attention"
        and failures.get(person.participation_id, 0) >= failures_to_reject(definition)
    ]
    if service == "mturk":
        return _reviewed_on_mturk(session, campaign, [(person, "", reason) for person, reason in found])
    ids = platform_ids(session, campaign)
    return write_csv([REJECTION_COLUMNS, *((*ids[person.participation_id], reason) for person, reason in found)])


def is_to_be_approved(person: Person, service: str) -> bool:
    """Tell whether somebody's submission is to be approved on a platform."""
    return (person.outcome == "completed" and person.stands) or (
        service == "mturk" and person.outcome == "screened_out"
    )


def _reviewed_on_mturk(session: Session, campaign: Campaign, reviews: Sequence[tuple[Person, str, str]]) -> str:
    ids = platform_ids(session, campaign)
    parameters: dict[int, dict[str, str]] = dict(
        session.execute(
            select(Participation.id, Participation.parameters).where(Participation.campaign_id == campaign.id)
        ).all()
    )
    rows = []
    for person, approve, reject in reviews:
        worker, submission = ids[person.participation_id]
        task = parameters[person.participation_id].get("hitId", "")
        rows.append((task, submission, worker, approve, reject))
    return write_csv([MTURK_COLUMNS, *rows])


def _instructions_failed(session: Session, campaign: Campaign) -> dict[int, int]:
    """Count the instructed questions answered otherwise in submitted work, by participation."""
    rows = session.execute(
        select(Assignment.participation_id, func.count())
        .join(CheckResult, CheckResult.assignment_id == Assignment.id)
        .where(
            Assignment.campaign_id == campaign.id,
            Assignment.submitted_at.is_not(None),
            CheckResult.kind == "instructed",
            CheckResult.passed.is_(False),
        )
        .group_by(Assignment.participation_id)
    )
    return {participation: count for participation, count in rows if participation is not None}


def _reason(definition: CampaignDefinition, failed: int) -> str:
    """Say why a submission may be rejected, in words for its author, and at the length that Prolific asks for."""
    needed = failures_to_reject(definition)
    length = f"{SHORT_STUDY_MINUTES} minutes or more" if needed > 1 else f"less than {SHORT_STUDY_MINUTES} minutes"
    answers = "answer was" if failed == 1 else "answers were"
    return (
        f"{failed} {answers} another than the one that the question itself asked to choose. In a study of {length}, "
        f"{needed} such {'answer is' if needed == 1 else 'answers are'} what the rules for attention checks ask for."
    )


def _require_platform(campaign: Campaign) -> str:
    service = definition_of(campaign).platform.service
    if service == "direct":
        raise InvalidInput(
            f"people come to {campaign.slug!r} by direct links: there is no platform on which to approve their work"
        )
    return service
