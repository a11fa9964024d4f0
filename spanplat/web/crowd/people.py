"""Pages of a campaign's people: participants and pay, checks, and qualification."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from flask import Blueprint, Response, redirect, render_template, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import NotFound
from spanplat.models import Campaign
from spanplat.platforms.rules import MINIMUM_HOURLY, RECOMMENDED_HOURLY, lint
from spanplat.services.accounts.audit import log_event
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.check_report import PARTS, list_screened_out, report_checks
from spanplat.services.crowd.pay import bonus_file, list_people, pay_figures, pay_file
from spanplat.services.crowd.qualifying import (
    QualificationTable,
    count_undecided,
    qualification_table,
    record_decisions,
    standings_by_annotator,
)
from spanplat.services.crowd.reviewing import approvals_file, rejections_file
from spanplat.web.agreement.measures import score_title
from spanplat.web.campaigns.pages import progress_of
from spanplat.web.crowd.check_table import check_table
from spanplat.web.crowd.crowd_table import CANDIDATES, PEOPLE, CandidateStanding, candidates_file, people_file
from spanplat.web.crowd.screening_table import SCREENED_OUT, screened_out_file
from spanplat.web.downloads import table_file
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.session import reading, transaction
from spanplat.web.sorted_tables import TablePage

PEOPLE_PER_PAGE = 100
PAY_FILES: Mapping[str, Callable[[Session, Campaign], str]] = {
    "pay": pay_file,
    "bonuses": bonus_file,
    "approvals": approvals_file,
    "rejections": rejections_file,
}

blueprint = Blueprint("crowd", __name__, url_prefix="/admin/campaigns/<slug>")


@blueprint.get("/people")
@policy("viewer")
def people(slug: str) -> Response:
    """Show the participants by pseudonym, and the pay of the work."""
    campaign = find_campaign(reading(), slug)
    came = list_people(reading(), campaign)
    figures = pay_figures(campaign, came)
    return unless_unchanged(
        render_template(
            "campaign/_people.html" if is_htmx() else "campaign/people.html",
            campaign=campaign,
            progress=progress_of(campaign),
            table=PEOPLE.view("people", TablePage("crowd.people", {"slug": slug}), came, PEOPLE_PER_PAGE),
            has_groups=any(person.group for person in came),
            figures=figures,
            least=MINIMUM_HOURLY.get(figures.hourly.currency) if figures.hourly else None,
            advised=RECOMMENDED_HOURLY.get(figures.hourly.currency) if figures.hourly else None,
            has_bonus=bool(definition_of(campaign).platform.bonus),
            has_platform=definition_of(campaign).platform.profile.is_marketplace,
            may_reject=any(person.outcome == "failed_attention" for person in came),
        )
    )


@blueprint.get("/people/table/<name>")
@policy("viewer")
def people_table(slug: str, name: str) -> Response:
    """Return a file with all participants that the table's search finds, by pseudonym."""
    found = PEOPLE.choose(list_people(reading(), find_campaign(reading(), slug)), PEOPLE.query())
    return table_file({"people": people_file(found)}, name)


@blueprint.get("/checks")
@policy("viewer")
def checks(slug: str) -> Response:
    """Show the results of each check, and the findings of the platform's rules on the definition."""
    campaign = find_campaign(reading(), slug)
    screened_out = list_screened_out(reading(), campaign)
    report, place = report_checks(reading(), campaign), TablePage("crowd.checks", {"slug": slug})
    parts = list(dict.fromkeys(part for parts in PARTS.values() for part in parts))
    return unless_unchanged(
        render_template(
            "campaign/_checks.html" if is_htmx() else "campaign/checks.html",
            campaign=campaign,
            progress=progress_of(campaign),
            report=report,
            checks=check_table(parts).view("each-check", place, report.checks, part="checks", beside=("screened-out",)),
            table=SCREENED_OUT.view("screened-out", place, screened_out, PEOPLE_PER_PAGE, part="checks"),
            parts=parts,
            findings=lint(definition_of(campaign)),
        )
    )


@blueprint.get("/checks/table/<name>")
@policy("viewer")
def screened_out_table(slug: str, name: str) -> Response:
    """Return a file with all screened-out participants that the table's search finds, by pseudonym."""
    found = SCREENED_OUT.choose(list_screened_out(reading(), find_campaign(reading(), slug)), SCREENED_OUT.query())
    return table_file({"screened-out": screened_out_file(found)}, name)


@blueprint.get("/qualification")
@policy("viewer")
def qualification(slug: str) -> Response:
    """Show all candidates of the qualification, people and models, and who of them passed."""
    campaign, table = _require_qualification(slug)
    scorer = table.exam.scorer
    place = TablePage("crowd.qualification", {"slug": slug})
    return unless_unchanged(
        render_template(
            "campaign/_qualification.html" if is_htmx() else "campaign/qualification.html",
            campaign=campaign,
            progress=progress_of(campaign),
            given=table.exam.given,
            measure=score_title(scorer.measure, hard=scorer.hard),
            table=CANDIDATES.view("qualification", place, _standings(campaign, table), PEOPLE_PER_PAGE),
            passed=len(table.passed),
            undecided=count_undecided(reading(), table),
        )
    )


@blueprint.get("/qualification/table/<name>")
@policy("viewer")
def qualification_file(slug: str, name: str) -> Response:
    """Return a file with all candidates that the table's search finds, by pseudonym."""
    campaign, table = _require_qualification(slug)
    found = CANDIDATES.choose(_standings(campaign, table), CANDIDATES.query())
    return table_file({"qualification": candidates_file(found)}, name)


def _require_qualification(slug: str) -> tuple[Campaign, QualificationTable]:
    campaign = find_campaign(reading(), slug)
    if definition_of(campaign).qualification_given is None:
        raise NotFound(f"campaign {slug!r} is no qualification")
    return campaign, qualification_table(reading(), slug)


def _standings(campaign: Campaign, table: QualificationTable) -> list[CandidateStanding]:
    stored = standings_by_annotator(reading(), campaign)
    return [CandidateStanding(candidate, stored.get(candidate.annotator_id)) for candidate in table.candidates]


@blueprint.post("/qualification")
@policy("researcher")
def decide(slug: str) -> AnyResponse:
    """Store who passed, so that campaigns that require the qualification admit them."""
    with transaction() as session:
        changed = record_decisions(session, qualification_table(session, slug), datetime.now(UTC))
        log_event(session, "qualification.decided", slug, changed=changed)
    return redirect(url_for("crowd.qualification", slug=slug), 303)


# POST, not GET: each download writes to the log, and the CSRF token stops other sites from triggering it.
@blueprint.post("/pay/<kind>.csv")
@policy("researcher")
def pay(slug: str, kind: str) -> AnyResponse:
    """Return one of the pay files. The download is logged, because the file identifies people."""
    if kind not in PAY_FILES:
        raise NotFound(f"there is no file {kind!r} about pay, but {', '.join(PAY_FILES)}")
    # Made before the transaction, which only adds a line to the log.
    content = PAY_FILES[kind](reading(), find_campaign(reading(), slug))
    with transaction() as session:
        log_event(session, "pay.downloaded", slug, kind=kind)
    response = Response(content, content_type="text/csv; charset=utf-8")
    response.headers.set("Content-Disposition", "attachment", filename=f"{slug}-{kind}.csv")
    response.headers["Cache-Control"] = "no-store"  # the ids of people stay in no browser's cache
    return response
