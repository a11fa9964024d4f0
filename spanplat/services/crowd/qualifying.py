"""Qualifications: scores of people and models, the decision who passes, and the table of all candidates."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics.registry import measure_named
from spanplat.models import (
    FINISHED,
    Annotation,
    Annotator,
    Assignment,
    Batch,
    BatchItem,
    Campaign,
    Category,
    Item,
    ItemOutput,
    Output,
    Qualification,
    Span,
)
from spanplat.schemas.checks import GoldCheck
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.platform import QualificationGiven
from spanplat.services.agreement import Filters, categories_of, load_side
from spanplat.services.campaigns import definition_of, find_campaign, list_campaigns
from spanplat.services.crowd.golds import CodedSpans, SpanScorer, coded_golds
from spanplat.services.crowd.pools import add_to_pool


@dataclass(frozen=True)
class Exam:
    """Qualification with the expected spans of each output and the rule for passing."""

    campaign: Campaign
    given: QualificationGiven
    categories: Sequence[str]
    """Keys; spans name a category by its position."""
    golds: Mapping[int, Sequence[CodedSpans]]
    """Acceptable sets of spans by output id."""

    @property
    def scorer(self) -> SpanScorer:
        """Scorer with the measure of this qualification."""
        return SpanScorer(self.given.measure, self.given.hard)

    def score(self, marked: Mapping[int, CodedSpans]) -> float:
        """Score the spans of one annotator against the best-fitting golds, pooled over the outputs."""
        chosen = [self.scorer.best_gold(self.golds[output], spans, self.categories) for output, spans in marked.items()]
        return self.scorer.score(chosen, list(marked.values()), self.categories)

    def is_passed(self, score: float) -> bool:
        """Return whether a score is above the threshold."""
        return self.given.threshold is None or score > self.given.threshold


@dataclass(frozen=True)
class Candidate:
    """One line of a qualification's table."""

    annotator_id: int
    pseudonym: str
    kind: str
    """``human`` or ``llm``."""
    score: float
    passed: bool
    attempts: int = 1
    outputs: int = 0
    """Number of gold outputs annotated."""


@dataclass(frozen=True)
class QualificationTable:
    """Candidates of a qualification, best first."""

    exam: Exam
    candidates: Sequence[Candidate]

    @property
    def passed(self) -> list[Candidate]:
        """Candidates who passed."""
        return [candidate for candidate in self.candidates if candidate.passed]


def load_exam(session: Session, campaign: Campaign, given: QualificationGiven | None = None) -> Exam:
    """Read the expected spans of a qualification from its gold checks, or from the reference campaign that it names.

    Parameters
    ----------
    session
        A session.
    campaign
        The campaign whose annotators are scored.
    given
        Rule for passing, in place of the rule in the definition.

    Raises
    ------
    NotFound
        If there is no such measure or reference campaign.
    InvalidInput
        If the definition has no rule for passing, or no output of the campaign has gold spans.
    """
    definition = definition_of(campaign)
    given = given or definition.qualification_given
    if given is None:
        raise InvalidInput(
            f"campaign {campaign.slug!r} is no qualification: its definition has no qualification_given. "
            "To score it all the same, name the campaign with the expected annotations: --reference CAMPAIGN"
        )
    # Called for its error: an unknown measure must fail here, not at the first score.
    measure_named(given.measure)
    if given.reference is not None:
        reference = find_campaign(session, given.reference)
        categories = list(categories_of(session, [campaign, reference]))
        golds = _golds_of_campaign(session, reference, categories)
    else:
        categories = [category.key for category in definition.categories]
        golds = _golds_of_checks(session, campaign, definition)
    asked = (
        select(ItemOutput.output_id).join(Item, Item.id == ItemOutput.item_id).where(Item.campaign_id == campaign.id)
    )
    known = set(session.scalars(asked))
    # A reference campaign may have annotated other outputs too.
    golds = {output: expected for output, expected in golds.items() if output in known}
    if not golds:
        raise InvalidInput(
            f"nothing is expected of the outputs of {campaign.slug!r}: define gold checks, or name a reference campaign "
            "that annotated the same outputs"
        )
    return Exam(campaign, given, categories, golds)


def qualification_table(
    session: Session, slug: str, given: QualificationGiven | None = None, *, models: Sequence[str] = ()
) -> QualificationTable:
    """Score the people and models that took a qualification, best first.

    Parameters
    ----------
    session
        A session.
    slug
        The qualification campaign, or an imported campaign whose annotators took one.
    given
        Rule for passing, in place of the rule in the definition.
    models
        Further campaigns on the same outputs, beside those whose definition names this qualification (``qualification_taken``).

    Raises
    ------
    NotFound, InvalidInput
        See `load_exam`.
    """
    campaign = find_campaign(session, slug)
    exam = load_exam(session, campaign, given)
    of_models = [other for other in list_campaigns(session) if other.kind == "llm"]
    takers = [other for other in of_models if definition_of(other).qualification_taken == slug]
    takers += [find_campaign(session, other) for other in models]
    candidates = [
        candidate
        # Without repeats: a campaign may be given by the caller and also name this qualification itself.
        for taker in dict.fromkeys([campaign, *takers])
        for candidate in _candidates(exam, _marked(session, taker, exam))
    ]
    # Ids break ties: of two equal scores, the person known first comes first, so that ``top`` always chooses the same people.
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.annotator_id))
    # Only people compete for the ``top`` places; a model's pass depends on the threshold alone.
    if exam.given.top is not None:
        best = [candidate.annotator_id for candidate in ranked if candidate.passed and candidate.kind == "human"]
        chosen = set(best[: exam.given.top])
        ranked = [
            replace(candidate, passed=candidate.annotator_id in chosen) if candidate.kind == "human" else candidate
            for candidate in ranked
        ]
    return QualificationTable(exam, ranked)


def score_attempt(session: Session, exam: Exam, assignment: Assignment) -> float:
    """Score the completed items of one seat that is about to be submitted."""
    counted = (Annotation.assignment_id == assignment.id, Annotation.status == "complete")
    spans = _spans_of(session, exam, counted)
    rows = session.execute(
        select(ItemOutput.output_id, Annotation.id)
        .join(Annotation, Annotation.item_id == ItemOutput.item_id)
        .where(*counted, ItemOutput.position == 0, ItemOutput.output_id.in_(list(exam.golds)))
    )
    return exam.score({output: spans.get(annotation_id, []) for output, annotation_id in rows})


def record_decisions(session: Session, table: QualificationTable, now: datetime) -> int:
    """Store the decisions of the table about people, add those who passed to the pool, and return the number of changed decisions."""
    # Decisions about models are not stored: a qualification lets only people into a campaign.
    changed = 0
    for candidate in table.candidates:
        if candidate.kind == "human":
            status = "passed" if candidate.passed else "failed"
            changed += _decide(session, table.exam, candidate, status, now)
    return changed


def count_undecided(session: Session, table: QualificationTable) -> int:
    """Count the people whose stored decision differs from the table, because people came later or the best changed."""
    stored = standings_by_annotator(session, table.exam.campaign)
    return sum(
        candidate.annotator_id not in stored
        or stored[candidate.annotator_id].status != ("passed" if candidate.passed else "failed")
        for candidate in table.candidates
        if candidate.kind == "human"
    )


def standings_by_annotator(session: Session, campaign: Campaign) -> dict[int, Qualification]:
    """Return the stored standings of a qualification by annotator id."""
    stored = session.scalars(select(Qualification).where(Qualification.campaign_id == campaign.id))
    return {standing.annotator_id: standing for standing in stored}


def record_attempt(session: Session, exam: Exam, annotator_id: int, score: float, now: datetime) -> str:
    """Store one attempt and return the annotator's new status: passed, failed, or pending until the best are chosen.

    A person who passed stays passed. Of several attempts the best score counts.
    """
    before = _stored(session, exam, annotator_id)
    attempts = (before.attempts if before else 0) + 1
    best = max(score, before.score or 0.0) if before else score
    above = exam.is_passed(best)
    status = "failed" if not above else "pending" if exam.given.top is not None else "passed"
    # A further attempt must not take a pass away; with ``top``, the status would be pending again.
    if before is not None and before.status == "passed":
        status = "passed"
    annotator = session.get_one(Annotator, annotator_id)
    candidate = Candidate(annotator_id, annotator.pseudonym, annotator.kind, best, status == "passed", attempts)
    _decide(session, exam, candidate, status, now)
    return status


def _decide(session: Session, exam: Exam, candidate: Candidate, status: str, now: datetime) -> bool:
    """Store a decision; return whether it differs from the one before."""
    stored = _stored(session, exam, candidate.annotator_id)
    changed = stored is None or stored.status != status
    if stored is None:
        stored = Qualification(campaign_id=exam.campaign.id, annotator_id=candidate.annotator_id, status=status)
        session.add(stored)
    # Only a new decision starts the validity period. Storing the same one again must not extend it.
    if changed:
        days = exam.given.valid_days
        stored.decided_at = now
        stored.expires_at = now + timedelta(days=days) if status == "passed" and days is not None else None
    stored.status, stored.score = status, candidate.score
    # A new row has no number of attempts yet: SQLAlchemy applies the default of a column only at the flush.
    stored.attempts = max(candidate.attempts, stored.attempts or 1)
    session.flush()
    if status == "passed" and changed and exam.given.pool is not None:
        add_to_pool(
            session, exam.given.pool, candidate.annotator_id, now, campaign=exam.campaign, expires_at=stored.expires_at
        )
    return changed


def _stored(session: Session, exam: Exam, annotator_id: int) -> Qualification | None:
    return session.scalar(
        select(Qualification).where(
            Qualification.campaign_id == exam.campaign.id, Qualification.annotator_id == annotator_id
        )
    )


def _golds_of_checks(
    session: Session, campaign: Campaign, definition: CampaignDefinition
) -> dict[int, list[CodedSpans]]:
    checks = {check.name: check for check in definition.checks if isinstance(check, GoldCheck)}
    rows = session.execute(
        select(BatchItem.check_name, Output.id, Output.text)
        .join(Item, Item.id == BatchItem.item_id)
        .join(ItemOutput, ItemOutput.item_id == Item.id)
        .join(Output, Output.id == ItemOutput.output_id)
        .where(Item.campaign_id == campaign.id, BatchItem.check_name.in_(list(checks)))
        # The item of a check is in many batches, usually in every one.
        .distinct()
    )
    return {
        output: coded_golds(definition, checks[name].golds, text) for name, output, text in rows if name is not None
    }


def _golds_of_campaign(session: Session, reference: Campaign, categories: Sequence[str]) -> dict[int, list[CodedSpans]]:
    """Return the spans of the reference campaign by output; each annotator's set is one acceptable set."""
    side = load_side(session, reference, categories, Filters())
    golds: dict[int, list[CodedSpans]] = {}
    for row, work in enumerate(side.works):
        marks = slice(int(side.spans.offsets[row]), int(side.spans.offsets[row + 1]))
        columns = (side.spans.start[marks], side.spans.end[marks], side.spans.category[marks])
        golds.setdefault(work.output_id, []).append(list(zip(*(column.tolist() for column in columns), strict=True)))
    return golds


@dataclass(frozen=True)
class _Attempt:
    """Spans that one annotator marked on the gold outputs of one seat."""

    annotator: Annotator
    asked: frozenset[int]
    """Gold outputs in the batch of the seat. An imported campaign stores only what was answered, so there it is all gold outputs."""
    marked: dict[int, CodedSpans]


def _marked(session: Session, campaign: Campaign, exam: Exam) -> list[_Attempt]:
    """Return the spans that the annotators of a campaign marked on the gold outputs, one attempt for each seat."""
    counted = (
        Assignment.campaign_id == campaign.id,
        Assignment.status.in_(FINISHED),
        Annotation.status == "complete",
        Annotation.late.is_(False),
    )
    spans = _spans_of(session, exam, counted)
    batches = _asked(session, campaign, exam)
    rows = session.execute(
        select(Annotator, Assignment.id, Assignment.batch_id, ItemOutput.output_id, Annotation.id)
        .join(Assignment, Assignment.annotator_id == Annotator.id)
        .join(Annotation, Annotation.assignment_id == Assignment.id)
        .join(ItemOutput, (ItemOutput.item_id == Annotation.item_id) & (ItemOutput.position == 0))
        .where(*counted, ItemOutput.output_id.in_(list(exam.golds)))
        # In an exam `repeat` is the number of the try, so the attempts come in their order.
        .order_by(Annotator.id, Assignment.repeat, Assignment.id, Annotation.id)
    )
    attempts: dict[int, _Attempt] = {}
    for annotator, assignment_id, batch_id, output, annotation_id in rows:
        asked = frozenset(exam.golds) if campaign.kind == "external" else batches[batch_id]
        attempt = attempts.setdefault(assignment_id, _Attempt(annotator, asked, {}))
        # Several items may show one output, for instance under different aspects. The first one counts.
        attempt.marked.setdefault(output, spans.get(annotation_id, []))
    return list(attempts.values())


def _asked(session: Session, campaign: Campaign, exam: Exam) -> dict[int, frozenset[int]]:
    """Return the gold outputs of every batch."""
    batches: dict[int, set[int]] = defaultdict(set)
    for batch_id, output in session.execute(
        select(BatchItem.batch_id, ItemOutput.output_id)
        .join(Batch, Batch.id == BatchItem.batch_id)
        .join(ItemOutput, ItemOutput.item_id == BatchItem.item_id)
        .where(Batch.campaign_id == campaign.id, ItemOutput.output_id.in_(list(exam.golds)))
    ):
        batches[batch_id].add(output)
    return {batch: frozenset(outputs) for batch, outputs in batches.items()}


def _spans_of(
    session: Session, exam: Exam, counted: Sequence[ColumnElement[bool]]
) -> dict[int, list[tuple[int, int, int]]]:
    code_of = {key: code for code, key in enumerate(exam.categories)}
    rows = session.execute(
        select(Span.annotation_id, Span.start_offset, Span.end_offset, Category.key)
        .join(Category, Category.id == Span.category_id)
        .join(Annotation, Annotation.id == Span.annotation_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .where(*counted, Span.side == "output")
        .order_by(Span.annotation_id, Span.position)
    )
    spans: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for annotation_id, start, end, key in rows:
        if key in code_of:
            spans[annotation_id].append((start, end, code_of[key]))
    return spans


def _candidates(exam: Exam, attempts: Sequence[_Attempt]) -> list[Candidate]:
    """Score each annotator by the best of the allowed attempts; if only one is allowed, by the first record of each output."""
    by_annotator: dict[int, list[_Attempt]] = defaultdict(list)
    for attempt in attempts:
        by_annotator[attempt.annotator.id].append(attempt)
    candidates = []
    for annotator_id, found in by_annotator.items():
        annotator, tries = found[0].annotator, found
        if exam.given.attempts == 1:
            # Reversed, so that the earliest record of an output overwrites the later ones.
            first = {output: spans for attempt in reversed(found) for output, spans in attempt.marked.items()}
            tries = [_Attempt(annotator, frozenset().union(*(attempt.asked for attempt in found)), first)]
        # An output without a record counts as one without marks. Otherwise leaving out hard outputs would raise the score.
        scored = [
            {output: attempt.marked.get(output, []) for output in sorted(attempt.asked)}
            for attempt in tries[: exam.given.attempts]
        ]
        scores = [exam.score(marked) for marked in scored]
        score = max(scores)
        answered = len(tries[scores.index(score)].marked)
        candidates.append(
            Candidate(
                annotator_id,
                annotator.pseudonym,
                annotator.kind,
                score,
                exam.is_passed(score),
                len(scored),
                answered,
            )
        )
    return candidates
