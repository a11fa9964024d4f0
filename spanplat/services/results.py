"""Computed results: what was asked, named by a signature; stored stage by stage, so that the quick figures need not wait for the slow.

A *question* is what somebody asks: a kind of result, campaigns, options, version. With the state of the data it becomes a *signature*.
Results of one question under different signatures differ in their data, so that an older one can be shown as what it is.
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
from spanplat.models.statements import insert_absent
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.revisions import Change, change_between, data_revision

PARTS = 1000
"""Parts of the whole in which progress is told."""

Options = TypeVar("Options")
Tell = Callable[[int, int], None]
"""Told how much of a stage is done, of how much."""


@dataclass(frozen=True)
class Request(Generic[Options]):
    """What is to be computed: campaigns at a revision of their data, and the options."""

    campaigns: tuple[Campaign, ...]
    options: Options
    question: str
    """Digest of everything but the data."""
    signature: str
    revisions: Mapping[str, str]

    @property
    def reference(self) -> Campaign:
        """The campaign that others are compared with."""
        return self.campaigns[0]

    @property
    def hypothesis(self) -> Campaign:
        """The campaign that is compared with the reference."""
        return self.campaigns[1]


class Computation(Protocol):
    """One computation over data that is loaded; it may keep what later stages can use."""

    def compute(self, stage: str, tell: Tell) -> dict[str, Any]:
        """Return the figures of one stage; stages are asked for in their order."""
        ...


@dataclass(frozen=True)
class WholeComputation:
    """A computation in one stage."""

    run: Callable[[Tell], dict[str, Any]]

    def compute(self, stage: str, tell: Tell) -> dict[str, Any]:
        """Return all figures."""
        del stage
        return self.run(tell)


WHOLE: Mapping[str, float] = {"whole": 1.0}
"""The stages of what is computed at once."""


@dataclass(frozen=True)
class ResultKind(Generic[Options]):
    """One kind of result and how it comes about."""

    name: str
    stages: Mapping[str, float]
    """Each with its share of the time, in the order in which they are computed."""
    options: type[Options]
    request: Callable[[Session, Sequence[str], Options], Request[Options]]
    estimate: Callable[[Session, Request[Options]], float]
    """About how many seconds it takes on an idle machine, found out in milliseconds."""
    load: Callable[[Session, Request[Options]], Computation]


@dataclass(frozen=True)
class Result:
    """What is stored for a question."""

    value: dict[str, Any]
    finished: tuple[str, ...]
    """Stages that are there."""
    is_complete: bool
    change: Change | None
    """What has happened to the data since; None while they are the same."""
    revisions: Mapping[str, str]
    """Marks of the campaigns' present data, by slug."""


def sign(
    session: Session,
    kind: str,
    campaigns: Sequence[Campaign],
    options: Options,
    *,
    shown: Sequence[str] = (),
    extra: str = "",
) -> Request[Options]:
    """Name a computation.

    Parameters
    ----------
    session
        A reading session.
    kind
        Name of the kind of result.
    campaigns
        The campaigns, in the order that matters to the kind.
    options
        A dataclass; all of it becomes part of the digest.
    shown
        Parts of the signature that people should be able to read.
    extra
        State of data that the revisions of the campaigns do not cover.
    """
    revisions = {campaign.slug: data_revision(session, campaign) for campaign in campaigns}
    slugs = [campaign.slug for campaign in campaigns]
    named = {"kind": kind, "campaigns": slugs, "options": asdict(options), "version": __version__}  # type: ignore[call-overload]
    names = [f"ref:{slugs[0]}@{revisions[slugs[0]]}"]
    if len(slugs) == 2:
        names.append(f"hyp:{slugs[1]}@{revisions[slugs[1]]}")
    digest = _digest({**named, "revisions": revisions, "extra": extra})
    signature = "|".join([kind, *names, *shown, f"digest:{digest}", f"v:{__version__}"])
    return Request(tuple(campaigns), options, _digest(named), signature, revisions)


def compute(
    database: Database,
    kind: ResultKind[Options],
    campaigns: Sequence[str],
    options: Options,
    *,
    until: str | None = None,
    on_progress: OnProgress = ignore_progress,
) -> dict[str, Any]:
    """Return a result of the present data, computing and storing the stages that are not stored yet.

    Parameters
    ----------
    database
        Where the campaigns and the results are.
    kind, campaigns, options
        The question.
    until
        The last stage that is wanted now; all by default.
    on_progress
        Told how far the whole is; what it raises ends the computation between two stages or within one.

    Returns
    -------
    dict
        The figures of the finished stages with ``signature`` and ``version``.
    """
    with database.reading() as session:
        request = kind.request(session, campaigns, options)
        stages = _stages(session, request.signature)
        wanted = _up_to(kind, until)
        if all(stage in stages for stage in wanted):
            return _merged(kind, stages, request.signature)
        older = session.scalar(select(func.max(AgreementResult.id)).where(AgreementResult.question == request.question))
        computation = kind.load(session, request)
    for stage in wanted:
        if stage not in stages:
            stages[stage] = computation.compute(stage, _teller(kind, stage, on_progress))
            _keep(database, request, stage, stages[stage])
    if len(stages) == len(kind.stages):
        _forget(database, request, older or 0)
    return _merged(kind, stages, request.signature)


def look_up(session: Session, kind: ResultKind[Options], request: Request[Options]) -> Result | None:
    """Return what is stored for a question: of the present data if there is any of it, else of the newest data before."""
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
    return Result(
        value=_merged(kind, stages, chosen),
        finished=tuple(stage for stage in kind.stages if stage in stages),
        is_complete=len(stages) == len(kind.stages),
        change=None if chosen == request.signature else change_between(own[0].revisions, request.revisions),
        revisions=request.revisions,
    )


def part_of(tell: Tell, place: int, parts: int) -> Tell:
    """Return what one of several equal parts of a stage tells its progress to."""
    return lambda done, total: tell(place * total + done, parts * total)


def _stages(session: Session, signature: str) -> dict[str, dict[str, Any]]:
    rows = session.execute(
        select(AgreementResult.stage, AgreementResult.value).where(AgreementResult.signature == signature)
    )
    return {stage: value for stage, value in rows}


def _up_to(kind: ResultKind[Options], until: str | None) -> list[str]:
    stages = list(kind.stages)
    return stages if until is None else stages[: stages.index(until) + 1]


def _merged(kind: ResultKind[Options], stages: Mapping[str, dict[str, Any]], signature: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    undefined: dict[str, str] = {}
    for stage in kind.stages:
        if stage in stages:
            undefined |= stages[stage].get("undefined", {})
            merged |= stages[stage]
    if "undefined" in merged:
        merged["undefined"] = undefined
    return merged | {"signature": signature, "version": __version__}


def _teller(kind: ResultKind[Options], stage: str, on_progress: OnProgress) -> Tell:
    whole = sum(kind.stages.values())
    names = list(kind.stages)
    before = sum(kind.stages[name] for name in names[: names.index(stage)])

    def tell(done: int, total: int) -> None:
        share = done / total if total else 1.0
        on_progress(round(PARTS * (before + kind.stages[stage] * share) / whole), PARTS)

    tell(0, 1)
    return tell


def _keep(database: Database, request: Request[Options], stage: str, value: dict[str, Any]) -> None:
    row = {
        "question": request.question,
        "signature": request.signature,
        "stage": stage,
        "revisions": dict(request.revisions),
        "value": value,
    }
    with database.transaction() as session:
        insert_absent(session, AgreementResult, [row])


def _forget(database: Database, request: Request[Options], newest: int) -> None:
    """Delete what is stored for the question's older data, up to the newest row there was when the computation began."""
    with database.transaction() as session:
        session.execute(
            delete(AgreementResult).where(
                AgreementResult.question == request.question,
                AgreementResult.signature != request.signature,
                AgreementResult.id <= newest,
            )
        )


def _digest(named: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
