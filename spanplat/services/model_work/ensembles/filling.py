"""Creation of an ensemble: a campaign that combines several campaigns, with a report on their agreement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.llm.ensemble import MergedError
from spanplat.metrics.ensembles import PairAgreement, figures_by_size, outlier_shares, pairwise_agreement, score_spread
from spanplat.metrics.ratings import aggregate
from spanplat.models import (
    Annotation,
    Assignment,
    AssignmentStatus,
    Batch,
    BatchItem,
    Campaign,
    CampaignStatus,
    Category,
    Item,
    ItemOutput,
    Output,
    SourceText,
    Span,
)
from spanplat.models.revisions import data_revision
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.schemas.span import MarkedSpan, rows_of_spans
from spanplat.services.accounts import log_event
from spanplat.services.background import OnProgress, ignore_progress
from spanplat.services.campaigns import add_campaign, definition_of, find_or_add_annotator, remove_interrupted
from spanplat.services.datasets import chunked
from spanplat.services.model_work.ensembles.combining import (
    CombinedJudgement,
    EnsembleSettings,
    combine,
    score_question,
)
from spanplat.services.model_work.ensembles.members import Members, choose_members, load_members


@dataclass(frozen=True)
class Ensemble:
    """Data of an ensemble that are stored."""

    definition: CampaignDefinition
    members: Members
    combined: list[CombinedJudgement]
    texts: Mapping[int, str]
    source_texts: Mapping[tuple[int, str], str]
    """Texts by output and field."""


@dataclass(frozen=True)
class EnsembleWriter:
    """Store an ensemble chunk by chunk, as the work of one annotator in one batch."""

    ensemble: Ensemble
    campaign_id: int
    batch_id: int
    assignment_id: int
    categories: Mapping[str, int]

    def write(self, session: Session, chunk: Sequence[CombinedJudgement], done: int) -> None:
        """Store a chunk. ``done`` is the number of items stored before."""
        kind = self.ensemble.definition.item.kind
        # sort_by_parameter_order: without it, the returned ids need not be in the order of the rows.
        items = session.scalars(
            insert(Item).returning(Item.id, sort_by_parameter_order=True),
            [{"campaign_id": self.campaign_id, "kind": kind, "aspect": entry.key.aspect} for entry in chunk],
        ).all()
        session.execute(
            insert(ItemOutput),
            [
                {"item_id": item, "position": position, "output_id": output}
                for item, entry in zip(items, chunk, strict=True)
                for position, output in enumerate(entry.outputs)
            ],
        )
        session.execute(
            insert(BatchItem),
            [
                {"batch_id": self.batch_id, "position": done + place, "item_id": item}
                for place, item in enumerate(items, 1)
            ],
        )
        annotations = session.scalars(
            insert(Annotation).returning(Annotation.id, sort_by_parameter_order=True),
            [self._annotation(item, entry) for item, entry in zip(items, chunk, strict=True)],
        ).all()
        spans = [
            row
            for annotation, entry in zip(annotations, chunk, strict=True)
            for row in rows_of_spans(annotation, [self._span(error, entry) for error in entry.errors], self.categories)
        ]
        if spans:
            session.execute(insert(Span), spans)

    def _annotation(self, item: int, entry: CombinedJudgement) -> dict[str, Any]:
        names = self.ensemble.members.names
        return {
            "assignment_id": self.assignment_id,
            "item_id": item,
            "status": "complete",
            "revision": 1,
            "answers": entry.answers,
            "extra": {
                "annotators": [names[annotator] for annotator in entry.annotators],
                "scores": {names[annotator]: score for annotator, score in entry.scores.items()},
                "errors_withheld": [names[annotator] for annotator in entry.withheld],
                "outlier_rule": "two standard deviations and one point from the mean of all",
                **({"undecided": dict(entry.undecided)} if entry.undecided else {}),
            },
            "completed_at": datetime.now(UTC),
        }

    def _span(self, error: MergedError, entry: CombinedJudgement) -> MarkedSpan:
        output = entry.key.outputs[error.output]
        of_source = error.side == "source"
        text = self.ensemble.source_texts[output, error.field or ""] if of_source else self.ensemble.texts[output]
        found_by = [self.ensemble.members.names[annotator] for annotator in error.annotators]
        return MarkedSpan(
            error.start,
            error.end,
            error.category,
            text[error.start : error.end],
            error.side,
            entry.outputs.index(output),
            error.field,
            error.subcategory,
            error.severity,
            error.reason,
            origin={"rule": "ensemble", "found_by": found_by},
        )


ITEMS_AT_ONCE = 50
"""Items stored in one transaction."""

_KEPT = ("language", "categories", "severities", "spans", "guidelines", "questions", "item")


@dataclass
class EnsembleReport:
    """Report on the members of an ensemble and their agreement."""

    campaign: str
    members: dict[str, str]
    """Revision of the data of each campaign."""
    annotators: list[str]
    settings: dict[str, Any]
    items: int = 0
    incomplete: int = 0
    """Number of items that not all annotators judged."""
    spans: int = 0
    undecided: dict[str, int] = field(default_factory=dict)
    """Number of items without a majority, by question. They have no answer to it."""
    question: str | None = None
    """Question whose answers are scores."""
    spans_by_annotator: dict[str, float] = field(default_factory=dict)
    """Mean number of spans on an item."""
    score_spread: float | None = None
    """Mean standard deviation (ddof 0) of the scores of one item. For repeats of one model, its inconsistency."""
    withheld: int = 0
    """Number of judgements whose errors were left out because the score was outlying."""
    outlier_shares: dict[str, float | None] = field(default_factory=dict)
    """Share of outlying scores, by annotator."""
    outlier_shares_by_dataset: dict[str, dict[str, float | None]] = field(default_factory=dict)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    """Spearman's ρ and Cohen's κ of every two annotators' scores."""
    by_size: list[dict[str, Any]] = field(default_factory=list)
    """Correlation with the reference against the number of annotators."""
    written: bool = False


def fill_ensemble(
    database: Database,
    slug: str,
    members: Sequence[str],
    *,
    settings: EnsembleSettings | None = None,
    reference: str | None = None,
    title: str | None = None,
    dry_run: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> EnsembleReport:
    """Create a campaign with one annotator, whose annotations combine those of several campaigns.

    Parameters
    ----------
    database
        Database with the campaigns.
    slug
        Name of the new campaign.
    members
        Campaigns on the same items with the same categories and questions. All their annotators are members.
        ``campaign#2`` names only the second annotator of a campaign, such as one repeat of a model.
    settings
        Settings of the combination.
    reference
        Campaign whose mean scores are correlated with ensembles of every size.
    title
        Title of the new campaign.
    dry_run
        Only report, and store nothing.
    on_progress
        Called with the number of items stored and the total.

    Raises
    ------
    NotFound, InvalidInput
        If a campaign does not exist, the campaigns do not fit together, or there is no such question.
    Conflict
        If there is a campaign of that name.
    """
    settings = settings or EnsembleSettings()
    with database.reading() as session:
        if session.scalar(
            select(Campaign.id).where(Campaign.slug == slug, Campaign.status != CampaignStatus.IMPORTING)
        ):
            raise Conflict(f"there is a campaign {slug!r} already; choose another name for the ensemble")
        # Loaded in one snapshot, so that the judgements fit the revisions of the data in the report.
        chosen = choose_members(session, members)
        campaigns = [entry.campaign for entry in chosen]
        definition = _definition(slug, title, campaigns)
        loaded = load_members(session, chosen)
        report = EnsembleReport(
            slug,
            {campaign.slug: data_revision(session, campaign) for campaign in campaigns},
            loaded.names,
            asdict(settings),
        )
        _report_scores(session, report, loaded, definition, settings=settings, reference=reference)
        outputs = {output for key in loaded.judgements for output in key.outputs}
        texts, source_texts = _texts(session, outputs)
    combined = [combine(key, judged, definition, settings) for key, judged in loaded.judgements.items()]
    report.items = len(combined)
    report.incomplete = sum(len(entry.annotators) < len(loaded.names) for entry in combined)
    report.spans = sum(len(entry.errors) for entry in combined)
    report.undecided = dict(Counter(key for entry in combined for key in entry.undecided))
    report.withheld = sum(len(entry.withheld) for entry in combined)
    if not dry_run:
        _write(database, Ensemble(definition, loaded, combined, texts, source_texts), report, on_progress)
    return report


def _definition(slug: str, title: str | None, campaigns: Sequence[Campaign]) -> CampaignDefinition:
    first, *others = (definition_of(campaign) for campaign in campaigns)
    if first.item.kind == "span":
        raise InvalidInput(f"campaign {first.slug!r} judges single spans; an ensemble is made of judgements of texts")
    for other in others:
        for part in ("categories", "questions", "severities"):
            mine, theirs = ([entry.key for entry in getattr(one, part)] for one in (first, other))
            if mine != theirs:
                raise InvalidInput(
                    f"campaigns {first.slug!r} and {other.slug!r} have different {part}: {', '.join(mine) or 'none'}; "
                    f"{', '.join(theirs) or 'none'}; an ensemble needs campaigns that ask the same"
                )
        if first.item.kind != other.item.kind:
            raise InvalidInput(
                f"items of {first.slug!r} are of kind {first.item.kind}, of {other.slug!r} {other.item.kind}"
            )
    content = first.model_dump(mode="json")
    # Nobody annotates in the ensemble, so it needs no suggestions.
    content["spans"] |= {"suggestions_from": None}
    kept = {name: content[name] for name in _KEPT}
    named = {
        "slug": slug,
        "title": title or f"Ensemble of {', '.join(c.slug for c in campaigns)}"[:200],
        "kind": "external",
    }
    return define(kept | named, f"ensemble {slug}")


def _report_scores(
    session: Session,
    report: EnsembleReport,
    members: Members,
    definition: CampaignDefinition,
    *,
    settings: EnsembleSettings,
    reference: str | None,
) -> None:
    if len(members.names) < 2:
        raise InvalidInput(
            f"an ensemble needs the finished annotations of at least two annotators, and {', '.join(report.members)} have "
            f"{len(members.names)}; name more campaigns with --of, or one with repeats"
        )
    report.spans_by_annotator = members.spans_per_item()
    report.question = score_question(definition, settings.question)
    if report.question is None:
        if settings.question is not None:
            raise InvalidInput(
                f"there is no question {settings.question!r} on a scale (questions of type slider or likert)"
            )
        return
    scores = members.scores(report.question)
    report.score_spread = score_spread(scores)
    report.outlier_shares = dict(zip(members.names, outlier_shares(scores), strict=True))
    datasets = np.array(list(members.datasets.values()))
    report.outlier_shares_by_dataset = {
        str(dataset): dict(zip(members.names, outlier_shares(scores[:, datasets == dataset]), strict=True))
        for dataset in dict.fromkeys(members.datasets.values())
    }
    report.pairs = [_pair(pair, members.names) for pair in pairwise_agreement(scores)]
    if reference is not None:
        theirs = load_members(session, choose_members(session, [reference]))
        # Items are matched by texts and aspect. Items that the reference lacks become NaN.
        means = dict(zip(theirs.judgements, aggregate(theirs.scores(report.question)), strict=True))
        truth = np.array([means.get(key, np.nan) for key in members.judgements])
        report.by_size = [asdict(figures) for figures in figures_by_size(scores, truth, method=settings.aggregation)]


def _pair(pair: PairAgreement, names: Sequence[str]) -> dict[str, Any]:
    return asdict(pair) | {"first": names[pair.first], "second": names[pair.second]}


def _texts(session: Session, outputs: set[int]) -> tuple[dict[int, str], dict[tuple[int, str], str]]:
    texts: dict[int, str] = {}
    fields: dict[tuple[int, str], str] = {}
    for chunk in chunked(sorted(outputs), 500):
        texts.update(
            (output, text)
            for output, text in session.execute(select(Output.id, Output.text).where(Output.id.in_(chunk)))
        )
        for output, field_name, text in session.execute(
            select(Output.id, SourceText.field, SourceText.text)
            .join(SourceText, SourceText.example_id == Output.example_id)
            .where(Output.id.in_(chunk))
        ):
            fields[output, field_name] = text
    return texts, fields


def _write(database: Database, ensemble: Ensemble, report: EnsembleReport, on_progress: OnProgress) -> None:
    """Store the campaign. It is invisible until its last item is stored."""
    # Short transactions instead of a long one, so that annotators can save meanwhile. The status hides a half-written campaign.
    slug = ensemble.definition.slug
    remove_interrupted(database, slug)  # a crash while writing leaves a hidden campaign of this name
    with database.transaction() as session:
        campaign = add_campaign(session, ensemble.definition, CampaignStatus.IMPORTING)
        campaign.imported_from = {"format": "ensemble", "members": report.members, "settings": report.settings}
        annotator = find_or_add_annotator(session, "llm", "ensemble", slug)
        batch = Batch(campaign_id=campaign.id, number=1)
        session.add(batch)
        session.flush()
        seat = Assignment(
            campaign_id=campaign.id,
            batch_id=batch.id,
            slot=0,
            annotator_id=annotator.id,
            # Accepted, so that its annotations count in figures.
            status=AssignmentStatus.ACCEPTED,
        )
        session.add(seat)
        session.flush()
        categories = dict(
            session.execute(select(Category.key, Category.id).where(Category.campaign_id == campaign.id)).all()
        )
        writer = EnsembleWriter(ensemble, campaign.id, batch.id, seat.id, categories)
    done = 0
    for chunk in chunked(ensemble.combined, ITEMS_AT_ONCE):
        with database.transaction() as session:
            writer.write(session, chunk, done)
        done += len(chunk)
        on_progress(done, len(ensemble.combined))
    # Before the last transaction, because the campaign stores the report.
    report.written = True
    with database.transaction() as session:
        campaign = session.get_one(Campaign, writer.campaign_id)
        campaign.status = CampaignStatus.CLOSED
        campaign.imported_from = (campaign.imported_from or {}) | {"report": asdict(report)}
        log_event(session, "campaign.combined", slug, members=report.members, settings=report.settings)
