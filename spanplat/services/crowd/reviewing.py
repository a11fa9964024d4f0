"""Review of submitted work: files of approvals and rejections for the platform, and replacing of work.

Nothing here approves or rejects by itself. Submitted work that was not replaced is to be approved, whatever a hidden check found. The
only reason to reject is one that platforms accept: enough instructed questions with a wrong answer. Work that the researcher replaced
is in neither file, because only the researcher knows the reason and has to settle it with the platform.
"""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput, NotFound
from spanplat.formats.spreadsheets import write_csv
from spanplat.models import FINISHED, Annotator, Assignment, Campaign, CheckResult
from spanplat.platforms.platform import Platform
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.accounts import log_event
from spanplat.services.campaigns import definition_of, find_campaign
from spanplat.services.crowd.checks import GROUNDS_TO_REJECT, SHORT_STUDY_MINUTES, failures_to_reject
from spanplat.services.crowd.leases import replace_seat
from spanplat.services.crowd.pay import Person, list_people, platform_ids


def approvals_file(session: Session, campaign: Campaign) -> str:
    """Write the submissions to approve in the format of the platform.

    These are the people whose submitted work was not replaced and who did not leave with the code for failed attention. On a platform
    that pays by approval only, people whom a check screened out are included; elsewhere their code decides their pay.

    Raises
    ------
    InvalidInput
        If the campaign's people do not come from a platform.
    """
    platform = _require_platform(campaign)
    ids = platform_ids(session, campaign)
    people = [person for person in list_people(session, campaign) if is_to_be_approved(person, platform)]
    return write_csv(platform.approvals([ids[person.participation_id] for person in people]))


def rejections_file(session: Session, campaign: Campaign) -> str:
    """Write the submissions that the platform's rules allow to reject, with the reasons; review each before using the file.

    Raises
    ------
    InvalidInput
        If the campaign's people do not come from a platform.
    """
    platform = _require_platform(campaign)
    ids = platform_ids(session, campaign)
    failures = _instructions_failed(session, campaign)
    definition = definition_of(campaign)
    # The outcome was decided at submission. Since then an amendment may have changed the minutes, and with them the number needed.
    rejected = [
        (ids[person.participation_id], _reason(definition, failures[person.participation_id]))
        for person in list_people(session, campaign)
        if person.outcome == "failed_attention"
        and failures.get(person.participation_id, 0) >= failures_to_reject(definition)
    ]
    return write_csv(platform.rejections(rejected))


def is_to_be_approved(person: Person, platform: Platform) -> bool:
    """Return whether the submission of a person is to be approved on a platform."""
    return (person.outcome == "completed" and person.stands) or (
        platform.pays_by_approval_only and person.outcome == "screened_out"
    )


def _instructions_failed(session: Session, campaign: Campaign) -> dict[int, int]:
    """Count the failed instructed questions in submitted work by participation."""
    rows = session.execute(
        select(Assignment.participation_id, func.count())
        .join(CheckResult, CheckResult.assignment_id == Assignment.id)
        .where(
            Assignment.campaign_id == campaign.id,
            Assignment.submitted_at.is_not(None),
            CheckResult.kind.in_(GROUNDS_TO_REJECT),
            CheckResult.passed.is_(False),
        )
        .group_by(Assignment.participation_id)
    )
    return {participation: count for participation, count in rows if participation is not None}


def _reason(definition: CampaignDefinition, failed: int) -> str:
    """Return the reason for a rejection, addressed to the annotator and as long as Prolific requires."""
    needed = failures_to_reject(definition)
    length = f"{SHORT_STUDY_MINUTES} minutes or more" if needed > 1 else f"less than {SHORT_STUDY_MINUTES} minutes"
    answers = "answer was" if failed == 1 else "answers were"
    # Prolific asks for at least 100 characters, so the reason is a full explanation.
    return (
        f"{failed} {answers} another than the one that the question itself asked to choose. In a study of {length}, "
        f"{needed} such {'answer is' if needed == 1 else 'answers are'} what the rules for attention checks ask for."
    )


def _require_platform(campaign: Campaign) -> Platform:
    platform = definition_of(campaign).platform.profile
    if not platform.is_marketplace:
        raise InvalidInput(
            f"people come to {campaign.slug!r} by direct links: there is no platform on which to approve their work"
        )
    return platform


def replace_work(session: Session, slug: str, pseudonym: str, reason: str) -> int:
    """Replace a person's submitted work: reject the batches, reopen their seats, and return their number. Pay does not change.

    Raises
    ------
    NotFound
        If nobody of this pseudonym submitted work in the campaign.
    InvalidInput
        If no reason is given.
    """
    if not reason.strip():
        raise InvalidInput("say why the work is replaced; the reason is stored in the audit log")
    campaign = find_campaign(session, slug)
    submitted = session.scalars(
        select(Assignment)
        .join(Annotator, Annotator.id == Assignment.annotator_id)
        .where(
            Assignment.campaign_id == campaign.id,
            Annotator.pseudonym == pseudonym,
            Assignment.status.in_(FINISHED),
        )
    ).all()
    if not submitted:
        raise NotFound(
            f"{pseudonym!r} has no submitted work in {slug!r}; to see the pseudonyms: spanplat campaign people {slug}"
        )
    replaced = sum(replace_seat(session, assignment) for assignment in submitted)
    log_event(session, "work.replaced", slug, annotator=pseudonym, reason=reason, batches=replaced)
    return replaced
