"""Stored results: stages, signatures, and changes of the data since the computation."""

from collections.abc import Callable

import pytest
from sqlalchemy import func, select, update

from spanplat.db import Database
from spanplat.models import AgreementResult, Annotation, Assignment, Campaign
from spanplat.models.revisions import data_revision
from spanplat.services.agreement.comparison import AGREEMENT, AgreementOptions, compute_agreement
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.agreement.sides import Filters
from spanplat.services.background.jobs import JobLost
from spanplat.services.background.results import StoredResult, compute, look_up

Import = Callable[..., str]

SPAN = [(0, 6, "Wrong")]
OPTIONS = AgreementOptions(samples=2, bootstrap=20)
SIDES = ("people", "model")


@pytest.fixture
def sides(imported: Import) -> None:
    """Two people and a model over six outputs; people's second one did three."""
    second = {output: [(3, 9, "Wrong")] for output in range(3)}
    imported("people", ann=dict.fromkeys(range(6), SPAN), ben=second)
    imported("model", one={output: SPAN if output % 2 else [] for output in range(6)})


def stored(database: Database, options: AgreementOptions = OPTIONS) -> StoredResult[AgreementReport] | None:
    with database.reading() as session:
        return look_up(session, AGREEMENT, AGREEMENT.request(session, SIDES, options))


def rows(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count(AgreementResult.id))) or 0


def change(database: Database, slug: str, **values: object) -> None:
    """Change the newest assignment's annotations of a campaign, or the assignment itself."""
    with database.transaction() as session:
        of_campaign = (
            select(Assignment.id).join(Campaign, Campaign.id == Assignment.campaign_id).where(Campaign.slug == slug)
        )
        newest = of_campaign.order_by(Assignment.id.desc()).limit(1).scalar_subquery()
        if "excluded" in values:
            session.execute(update(Assignment).where(Assignment.id == newest).values(**values))
        else:
            session.execute(update(Annotation).where(Annotation.assignment_id == newest).values(**values))


@pytest.mark.usefixtures("sides")
def test_the_quick_figures_are_stored_before_the_slow_ones(database: Database) -> None:
    assert stored(database) is None
    first = compute(database, AGREEMENT, SIDES, OPTIONS, until="headline")
    assert (first.measures["char"].hard.micro.f1 or 0) > 0
    assert first.gamma is None
    partial = stored(database)
    assert partial is not None
    assert (partial.finished, partial.is_complete, partial.report) == (("headline",), False, first)
    whole = compute_agreement(database, *SIDES, OPTIONS)
    assert (whole.measures, whole.pearson, whole.confusion) == (first.measures, first.pearson, first.confusion)
    assert whole.gamma is not None
    complete = stored(database)
    assert complete is not None
    assert (complete.is_complete, complete.change, complete.report) == (True, None, whole)
    assert set(whole.intervals) >= {"char.hard.f1", "gamma.hard.mean"}


@pytest.mark.usefixtures("sides")
def test_stages_give_the_same_figures_as_all_at_once(database: Database) -> None:
    compute(database, AGREEMENT, SIDES, OPTIONS, until="gamma")
    in_stages = compute_agreement(database, *SIDES, OPTIONS)
    with database.transaction() as session:
        session.execute(AgreementResult.__table__.delete())  # type: ignore[attr-defined]
    at_once = compute_agreement(database, *SIDES, OPTIONS)
    assert None not in at_once.intervals["gamma.hard.mean"]
    assert in_stages == at_once


@pytest.mark.usefixtures("sides")
def test_nothing_is_computed_twice(database: Database) -> None:
    compute_agreement(database, *SIDES, OPTIONS)
    told: list[int] = []
    compute(database, AGREEMENT, SIDES, OPTIONS, on_progress=lambda done, _total: told.append(done))
    assert told == []


@pytest.mark.usefixtures("sides")
def test_progress_grows_to_the_end_and_an_end_from_outside_keeps_the_finished_stages(database: Database) -> None:
    told: list[int] = []

    def stop_at_gamma(done: int, total: int | None) -> None:
        assert total == 1000
        told.append(done)
        if len(told) > 1:
            raise JobLost("stopped")

    with pytest.raises(JobLost):
        compute(database, AGREEMENT, SIDES, OPTIONS, on_progress=stop_at_gamma)
    kept = stored(database)
    assert kept is not None
    assert kept.finished == ("headline",)
    told.clear()
    compute(database, AGREEMENT, SIDES, OPTIONS, on_progress=lambda done, _total: told.append(done))
    assert told == sorted(told)


@pytest.mark.usefixtures("sides")
def test_older_figures_are_told_from_present_ones_and_forgotten_once_there_are_new_ones(database: Database) -> None:
    change(database, "model", status="draft")
    with pytest.raises(Exception, match="no completed annotation"):
        compute_agreement(database, *SIDES, OPTIONS)
    change(database, "people", status="draft")
    change(database, "model", status="complete")
    old = compute_agreement(database, *SIDES, OPTIONS)
    change(database, "people", status="complete")
    stale = stored(database)
    assert stale is not None
    assert stale.change is not None
    assert (stale.report, stale.change.added, stale.change.removed) == (old, 3, 0)
    new = compute_agreement(database, *SIDES, OPTIONS)
    assert new.signature != old.signature
    assert new.ceiling is not None
    assert rows(database) == len(AGREEMENT.stages)


@pytest.mark.usefixtures("sides")
def test_annotations_saved_again_or_taken_out_make_figures_old(database: Database) -> None:
    compute_agreement(database, *SIDES, OPTIONS)
    change(database, "people", revision=7)
    again = stored(database)
    assert again is not None
    assert again.change is not None
    assert (again.change.added, again.change.removed) == (0, 0)
    change(database, "people", revision=1)
    change(database, "people", excluded=True)
    out = stored(database)
    assert out is not None
    assert out.change is not None
    assert (out.change.added, out.change.removed) == (0, 3)


@pytest.mark.usefixtures("sides")
def test_another_option_is_another_question(database: Database) -> None:
    compute_agreement(database, *SIDES, OPTIONS)
    assert stored(database, AgreementOptions(samples=3)) is None


def test_one_annotation_in_the_place_of_another_changes_the_revision(database: Database, imported: Import) -> None:
    imported("people", ann={0: SPAN}, ben={1: SPAN})
    with database.reading() as session:
        campaign = session.scalars(select(Campaign)).one()
        ids = sorted(session.scalars(select(Annotation.id)))
    marks = []
    for kept in ids:
        with database.transaction() as session:
            session.execute(update(Annotation).values(status="draft"))
            session.execute(update(Annotation).where(Annotation.id == kept).values(status="complete"))
        with database.reading() as session:
            marks.append(data_revision(session, campaign))
    assert len(set(marks)) == 2


@pytest.mark.usefixtures("sides")
def test_the_data_of_a_campaign_that_only_chooses_outputs_belong_to_the_signature(database: Database) -> None:
    options = AgreementOptions("group=0", "group=1", samples=2, filters=Filters(shared_with="model"))
    before = compute_agreement(database, "people", "people", options)
    change(database, "model", revision=9)
    assert compute_agreement(database, "people", "people", options).signature != before.signature
