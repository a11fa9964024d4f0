"""A campaign's people and checks: who came, how it went, what it pays, and what the platform's rules say."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from flask import Blueprint, Response, redirect, render_template, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import NotFound
from spanplat.models import Campaign
from spanplat.platforms.rules import MINIMUM_HOURLY, RECOMMENDED_HOURLY, lint
from spanplat.services.audit import log_event
from spanplat.services.campaigns import find_campaign
from spanplat.services.check_report import PARTS, list_screened_out, report_checks
from spanplat.services.definitions import definition_of
from spanplat.services.pay import bonus_file, list_people, pay_figures, pay_file
from spanplat.services.qualifying import (
    QualificationTable,
    count_undecided,
    qualification_table,
    record_decisions,
    standings_by_annotator,
)
from spanplat.services.reviewing import approvals_file, rejections_file
from spanplat.web.campaigns import progress_of
from spanplat.web.crowd_table import CANDIDATES, PEOPLE, Standing, candidates_file, people_file
from spanplat.web.downloads import table_file
from spanplat.web.measures import MEASURE_TITLES
from spanplat.web.policy import policy
from spanplat.web.representation import is_htmx, unless_unchanged
from spanplat.web.screening_table import SCREENED_OUT, screened_out_file
from spanplat.web.session import reading, transaction
from spanplat.web.sorted_tables import Place

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
    """Show who came, by pseudonym, and what the work pays."""
    campaign = find_campaign(reading(), slug)
    came = list_people(reading(), campaign)
    figures = pay_figures(campaign, came)
    return unless_unchanged(
        render_template(
            "campaign/_people.html" if is_htmx() else "campaign/people.html",
            campaign=campaign,
            progress=progress_of(campaign),
            table=PEOPLE.view("people", Place("crowd.people", {"slug": slug}), came, PEOPLE_PER_PAGE),
            has_groups=any(person.group for person in came),
            figures=figures,
            least=MINIMUM_HOURLY.get(figures.hourly.currency) if figures.hourly else None,
            advised=RECOMMENDED_HOURLY.get(figures.hourly.currency) if figures.hourly else None,
            has_bonus=bool(definition_of(campaign).platform.bonus),
            has_platform=definition_of(campaign).platform.service != "direct",
            may_reject=any(person.outcome == "failed_attention" for person in came),
        )
    )


@blueprint.get("/people/table/<name>")
@policy("viewer")
def people_table(slug: str, name: str) -> Response:
    """Return everybody whom the page with the same address shows on all its pages, by pseudonym, as a file."""
    found = PEOPLE.choose(list_people(reading(), find_campaign(reading(), slug)), PEOPLE.query())
    return table_file({"people": people_file(found)}, name)


@blueprint.get("/checks")
@policy("viewer")
def checks(slug: str) -> Response:
    """Show how each check went, and what the platform's rules say about the definition."""
    campaign = find_campaign(reading(), slug)
    screened_out = list_screened_out(reading(), campaign)
    return unless_unchanged(
        render_template(
            "campaign/_checks.html" if is_htmx() else "campaign/checks.html",
            campaign=campaign,
            progress=progress_of(campaign),
            report=report_checks(reading(), campaign),
            table=SCREENED_OUT.view("checks", Place("crowd.checks", {"slug": slug}), screened_out, PEOPLE_PER_PAGE),
            parts=list(dict.fromkeys(part for parts in PARTS.values() for part in parts)),
            findings=lint(definition_of(campaign)),
        )
    )


@blueprint.get("/checks/table/<name>")
@policy("viewer")
def screened_out_table(slug: str, name: str) -> Response:
    """Return everybody screened out whom the page with the same address shows on all its pages, by pseudonym, as a file."""
    found = SCREENED_OUT.choose(list_screened_out(reading(), find_campaign(reading(), slug)), SCREENED_OUT.query())
    return table_file({"screened-out": screened_out_file(found)}, name)


@blueprint.get("/qualification")
@policy("viewer")
def qualification(slug: str) -> Response:
    """Show who took the qualification, people and models in one table, and who passed."""
    campaign, table = _require_qualification(slug)
    yardstick = table.exam.yardstick.name
    place = Place("crowd.qualification", {"slug": slug})
    return unless_unchanged(
        render_template(
            "campaign/_qualification.html" if is_htmx() else "campaign/qualification.html",
            campaign=campaign,
            progress=progress_of(campaign),
            given=table.exam.given,
            measure=MEASURE_TITLES.get(yardstick.rpartition(".")[0], yardstick),
            table=CANDIDATES.view("qualification", place, _standings(campaign, table), PEOPLE_PER_PAGE),
            passed=len(table.passed),
            undecided=count_undecided(reading(), table),
        )
    )


@blueprint.get("/qualification/table/<name>")
@policy("viewer")
def qualification_file(slug: str, name: str) -> Response:
    """Return everybody whom the page with the same address shows on all its pages, by pseudonym, as a file."""
    campaign, table = _require_qualification(slug)
    found = CANDIDATES.choose(_standings(campaign, table), CANDIDATES.query())
    return table_file({"qualification": candidates_file(found)}, name)


def _require_qualification(slug: str) -> tuple[Campaign, QualificationTable]:
    campaign = find_campaign(reading(), slug)
    if definition_of(campaign).qualification_given is None:
        raise NotFound(f"campaign {slug!r} is no qualification")
    return campaign, qualification_table(reading(), slug)


def _standings(campaign: Campaign, table: QualificationTable) -> list[Standing]:
    stored = standings_by_annotator(reading(), campaign)
    return [Standing(candidate, stored.get(candidate.annotator_id)) for candidate in table.candidates]


@blueprint.post("/qualification")
@policy("researcher")
def decide(slug: str) -> AnyResponse:
    """Store who passed, so that campaigns which require it let them in."""
    with transaction() as session:
        changed = record_decisions(session, qualification_table(session, slug), datetime.now(UTC))
        log_event(session, "qualification.decided", slug, changed=changed)
    return redirect(url_for("crowd.qualification", slug=slug), 303)


@blueprint.post("/pay/<kind>.csv")
@policy("researcher")
def pay(slug: str, kind: str) -> AnyResponse:
    """Give one of the files about pay; that somebody took it is logged, because it names people."""
    if kind not in PAY_FILES:
        raise NotFound(f"there is no file {kind!r} about pay, but {', '.join(PAY_FILES)}")
    content = PAY_FILES[kind](reading(), find_campaign(reading(), slug))
    with transaction() as session:
        log_event(session, "pay.downloaded", slug, kind=kind)
    response = Response(content, content_type="text/csv; charset=utf-8")
    response.headers.set("Content-Disposition", "attachment", filename=f"{slug}-{kind}.csv")
    response.headers["Cache-Control"] = "no-store"
    return response
