"""Computed results. They are stored stage by stage, so that quick figures appear before slow ones.

A *question* is a kind of result, campaigns, options and the version. A *signature* is a question with the state of the data. Results
of one question with different signatures differ in their data, so that a page can show an older result and say that it is older.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from spanplat import __version__
from spanplat.db import Database
from spanplat.models import AgreementResult, Campaign
from spanplat.models.revisions import Change, change_between, data_revision
from spanplat.models.statements import insert_absent
from spanplat.services.background.progress import OnProgress, ignore_progress
from spanplat.services.background.reports import Report

PARTS = 1000
"""Number of equal parts in which the progress of all stages is counted."""

Options = TypeVar("Options")
ReportType = TypeVar("ReportType", bound=Report)


@dataclass(frozen=True)
class SignedRequest(Generic[Options]):
    """Request for a result: campaigns with the revisions of their data, and options."""

    campaigns: tuple[Campaign, ...]
    options: Options
    question: str
    """Digest of the request without the state of the data."""
    signature: str
    revisions: Mapping[str, str]

    @property
    def reference(self) -> Campaign:
        """Campaign that the others are compared with."""
        return self.campaigns[0]

    @property
    def hypothesis(self) -> Campaign:
        """Campaign that is compared with the reference."""
        return self.campaigns[1]


class Computation(Protocol):
    """Computation over loaded data. It may keep intermediate values for later stages."""

    def compute(self, stage: str, on_progress: OnProgress) -> dict[str, Any]:
        """Return the part of the report's JSON that one stage computes. Stages are called in their order."""
        ...


@dataclass(frozen=True)
class WholeComputation:
    """Computation with one stage."""

    run: Callable[[OnProgress], Report]

    def compute(self, stage: str, on_progress: OnProgress) -> dict[str, Any]:
        """Return the whole report as JSON."""
        del stage
        return self.run(on_progress).as_json()


WHOLE: Mapping[str, float] = {"whole": 1.0}
"""Stages of a computation with one stage."""


@dataclass(frozen=True)
class ResultKind(Generic[Options, ReportType]):
    """Kind of result: its stages, its types, and the functions that compute it."""

    name: str
    stages: Mapping[str, float]
    """Stages in the order of computation, each with its share of the time."""
    options: type[Options]
    report: type[ReportType]
    request: Callable[[Session, Sequence[str], Options], SignedRequest[Options]]
    estimate: Callable[[Session, SignedRequest[Options]], float]
    """Function that estimates the seconds on an idle machine. It takes milliseconds."""
    load: Callable[[Session, SignedRequest[Options]], Computation]


@dataclass(frozen=True)
class StoredResult(Generic[ReportType]):
    """Stored result of a question."""

    report: ReportType
    finished: tuple[str, ...]
    """Stored stages."""
    is_complete: bool
    change: Change | None
    """Change of the data since the computation; None if there is no change."""
    revisions: Mapping[str, str]
    """Revisions of the campaigns' present data, by slug."""


def sign(
    session: Session,
    kind: str,
    campaigns: Sequence[Campaign],
    options: Options,
    *,
    shown: Sequence[str] = (),
    extra: str = "",
) -> SignedRequest[Options]:
    """Return the signed request for a computation.

    Parameters
    ----------
    session
        A reading session.
    kind
        Name of the kind of result.
    campaigns
        The campaigns, in the order that the kind of result expects.
    options
        A dataclass. The digest covers all its fields.
    shown
        Readable parts of the signature.
    extra
        State of data that the revisions of the campaigns do not cover.
    """
    revisions = {campaign.slug: data_revision(session, campaign) for campaign in campaigns}
    slugs = [campaign.slug for campaign in campaigns]
    # Another version may compute other figures, so it asks another question.
    named = {"kind": kind, "campaigns": slugs, "options": asdict(options), "version": __version__}  # type: ignore[call-overload]
    names = [f"ref:{slugs[0]}@{revisions[slugs[0]]}"]
    if len(slugs) == 2:
        names.append(f"hyp:{slugs[1]}@{revisions[slugs[1]]}")
    digest = _digest({**named, "revisions": revisions, "extra": extra})
    signature = "|".join([kind, *names, *shown, f"digest:{digest}", f"v:{__version__}"])
    return SignedRequest(tuple(campaigns), options, _digest(named), signature, revisions)


def compute(
    database: Database,
    kind: ResultKind[Options, ReportType],
    campaigns: Sequence[str],
    options: Options,
    *,
    until: str | None = None,
    on_progress: OnProgress = ignore_progress,
) -> ReportType:
    """Return a result of the present data. Compute and store the missing stages.

    Parameters
    ----------
    database
        The database with the campaigns and the results.
    kind, campaigns, options
        The question.
    until
        The last stage to compute now; by default the last one.
    on_progress
        Callback for the progress of the whole computation. It may raise an exception to stop the computation.

    Returns
    -------
    Report
        The report of this kind of result, with the figures of the finished stages.
    """
    with database.reading() as session:
        request = kind.request(session, campaigns, options)
        stages = _stages(session, request.signature)
        wanted = _up_to(kind, until)
        if all(stage in stages for stage in wanted):
            return _merged(kind, stages, request.signature)
        # Read before the computation: another process may store stages for newer data meanwhile, and those must stay.
        older = session.scalar(select(func.max(AgreementResult.id)).where(AgreementResult.question == request.question))
        computation = kind.load(session, request)
    # The session is closed now. A computation can take minutes and must not hold a read transaction open.
    for stage in wanted:
        if stage not in stages:
            stages[stage] = computation.compute(stage, _stage_progress(kind, stage, on_progress))
            _store(database, request, stage, stages[stage])
    if len(stages) == len(kind.stages):
        _delete_older(database, request, older or 0)
    return _merged(kind, stages, request.signature)


def look_up(
    session: Session, kind: ResultKind[Options, ReportType], request: SignedRequest[Options]
) -> StoredResult[ReportType] | None:
    """Return the stored result of a question: for the present data if there is one, else the newest older result."""
    rows = session.execute(
        select(AgreementResult.signature, AgreementResult.stage, AgreementResult.value, AgreementResult.revisions)
        .where(AgreementResult.question == request.question)
        .order_by(AgreementResult.id.desc())
    ).all()
    signatures = [row.signature for row in rows]
    if not signatures:
        return None
    chosen = request.signature if request.signature in signatures else signatures[0]
    own = [row for row in rows if row.signature == chosen]
    stages = {row.stage: row.value for row in own}
    return StoredResult(
        report=_merged(kind, stages, chosen),
        finished=tuple(stage for stage in kind.stages if stage in stages),
        is_complete=len(stages) == len(kind.stages),
        change=None if chosen == request.signature else change_between(own[0].revisions, request.revisions),
        revisions=request.revisions,
    )


def part_of(on_progress: OnProgress, part: int, parts: int) -> OnProgress:
    """Return the progress callback for one of several equal parts of a stage."""

    def on_part_progress(done: int, total: int | None) -> None:
        if total is not None:
            on_progress(part * total + done, parts * total)

    return on_part_progress


def _stages(session: Session, signature: str) -> dict[str, dict[str, Any]]:
    rows = session.execute(
        select(AgreementResult.stage, AgreementResult.value).where(AgreementResult.signature == signature)
    )
    return {stage: value for stage, value in rows}


def _up_to(kind: ResultKind[Options, ReportType], until: str | None) -> list[str]:
    stages = list(kind.stages)
    return stages if until is None else stages[: stages.index(until) + 1]


def _merged(kind: ResultKind[Options, ReportType], stages: Mapping[str, dict[str, Any]], signature: str) -> ReportType:
    merged: dict[str, Any] = {}
    undefined: dict[str, str] = {}
    for stage in kind.stages:
        if stage in stages:
            # Several stages have the key "undefined". A plain merge would keep the reasons of the last stage only.
            undefined |= stages[stage].get("undefined", {})
            merged |= stages[stage]
    if "undefined" in merged:
        merged["undefined"] = undefined
    return kind.report.from_json(merged | {"signature": signature, "version": __version__})


def _stage_progress(kind: ResultKind[Options, ReportType], stage: str, on_progress: OnProgress) -> OnProgress:
    """Return the progress callback for one stage. It converts to the progress of all stages."""
    whole = sum(kind.stages.values())
    names = list(kind.stages)
    before = sum(kind.stages[name] for name in names[: names.index(stage)])

    def on_stage_progress(done: int, total: int | None) -> None:
        if total is not None:
            share = done / total if total else 1.0
            on_progress(round(PARTS * (before + kind.stages[stage] * share) / whole), PARTS)

    # A call before the stage begins: the callback may raise here and stop the computation between two stages.
    on_stage_progress(0, 1)
    return on_stage_progress


def _store(database: Database, request: SignedRequest[Options], stage: str, value: dict[str, Any]) -> None:
    row = {
        "question": request.question,
        "signature": request.signature,
        "stage": stage,
        "revisions": dict(request.revisions),
        "value": value,
    }
    with database.transaction() as session:
        # A page and the worker may compute the same stage at the same time. The first row stays.
        insert_absent(session, AgreementResult, [row])


def _delete_older(database: Database, request: SignedRequest[Options], newest: int) -> None:
    """Delete the results of older data for this question, up to the newest row at the start of the computation."""
    with database.transaction() as session:
        session.execute(
            delete(AgreementResult).where(
                AgreementResult.question == request.question,
                AgreementResult.signature != request.signature,
                AgreementResult.id <= newest,
            )
        )


def _digest(named: Mapping[str, Any]) -> str:
    # With sorted keys the digest does not depend on the order of fields.
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
