"""Making a campaign of what several campaigns say together, and a report on how they agree."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import Conflict, InvalidInput
from spanplat.metrics.ensembles import PairAgreement, figures_by_size, outlier_shares, pairwise_agreement, score_spread
from spanplat.metrics.ratings import aggregate
from spanplat.models import (
    Assignment,
    AssignmentStatus,
    Batch,
    Campaign,
    CampaignStatus,
    Category,
    Output,
    SourceText,
)
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.definition_file import define
from spanplat.services.annotators import find_or_add_annotator
from spanplat.services.audit import log_event
from spanplat.services.campaigns import add_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.ensembles.combining import EnsembleSettings, combine, score_question
from spanplat.services.ensembles.members import Members, choose_members, load_members
from spanplat.services.ensembles.writing import Ensemble, EnsembleWriter
from spanplat.services.importing.campaigns import remove_interrupted
from spanplat.services.importing.progress import OnProgress, ignore_progress
from spanplat.services.importing.storing import chunked
from spanplat.services.revisions import data_revision

ITEMS_AT_ONCE = 50

_KEPT = ("language", "categories", "severities", "spans", "guidelines", "questions", "item")


@dataclass
class EnsembleReport:
    """What an ensemble is made of, and how its annotators agree."""

    campaign: str
    members: dict[str, str]
    """The campaigns, each with the revision of its data."""
    annotators: list[str]
    settings: dict[str, Any]
    items: int = 0
    incomplete: int = 0
    """Items that not all annotators judged."""
    spans: int = 0
    undecided: dict[str, int] = field(default_factory=dict)
    """By question, the items whose votes gave no majority, and which have no answer to it."""
    question: str | None = None
    """The question whose answers are scores."""
    spans_by_annotator: dict[str, float] = field(default_factory=dict)
    """Mean number of spans on an item."""
    score_spread: float | None = None
    """Mean standard deviation (ddof 0) of the scores of one item: of repeats, how much the model differs from itself."""
    withheld: int = 0
    """How often an annotator's errors were left out, because its score was out of line with all."""
    outlier_shares: dict[str, float | None] = field(default_factory=dict)
    """By annotator."""
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
    """Make a campaign whose one annotator is what several campaigns say together.

    Parameters
    ----------
    database
        Where the campaigns are.
    slug
        Name of the new campaign.
    members
        Campaigns on the same items with the same categories and questions; each of their annotators is one of the ensemble's.
        ``campaign#2`` names only the second of a campaign's annotators, such as one repeat of a model.
    settings
        How judgements are combined.
    reference
        Campaign whose mean scores the ensembles of every size are correlated with.
    title
        Of the new campaign.
    dry_run
        Only report.
    on_progress
        Told how many items are stored, and of how many.

    Raises
    ------
    NotFound, InvalidInput
        If a campaign does not exist, they do not fit together, or there is no such question.
    Conflict
        If there is a campaign of that name.
    """
    settings = settings or EnsembleSettings()
    with database.reading() as session:
        if session.scalar(
            select(Campaign.id).where(Campaign.slug == slug, Campaign.status != CampaignStatus.IMPORTING)
        ):
            raise Conflict(f"there is a campaign {slug!r} already; choose another name for the ensemble")
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
                    f"campaigns {first.slug!r} and {other.slug!r} have other {part}: {', '.join(mine) or 'none'}; "
                    f"{', '.join(theirs) or 'none'}; an ensemble needs campaigns that ask the same"
                )
        if first.item.kind != other.item.kind:
            raise InvalidInput(
                f"items of {first.slug!r} are of kind {first.item.kind}, of {other.slug!r} {other.item.kind}"
            )
    content = first.model_dump(mode="json")
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
    """Store the campaign; it is invisible until its last item is in."""
    slug = ensemble.definition.slug
    remove_interrupted(database, slug)
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
    report.written = True
    with database.transaction() as session:
        campaign = session.get_one(Campaign, writer.campaign_id)
        campaign.status = CampaignStatus.CLOSED
        campaign.imported_from = (campaign.imported_from or {}) | {"report": asdict(report)}
        log_event(session, "campaign.combined", slug, members=report.members, settings=report.settings)
