"""Input of a consolidator: the errors that an ensemble's members report for each item, without those of outlying annotators."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem, ReportedError
from spanplat.models import ItemOutput, Output
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.span import MarkedSpan
from spanplat.services.model_work.ensembles.combining import EnsembleSettings, combine
from spanplat.services.model_work.ensembles.members import ItemKey, choose_members, load_members


def add_reported_errors(
    session: Session, definition: CampaignDefinition, items: Mapping[int, AskedItem]
) -> dict[int, AskedItem]:
    """Add the judgements of the ensemble's members to items.

    Parameters
    ----------
    session
        A reading session.
    definition
        Definition of a campaign that consolidates others.
    items
        Items by id.

    Returns
    -------
    dict of int to AskedItem
        Items with the errors of the members, and with the combined answers of all of them, outlying annotators included.

    Raises
    ------
    InvalidInput
        If no member has judged an item.
    """
    settings = definition.model
    chosen = choose_members(session, settings.consolidates if settings else [])
    keys = _keys(session, items)
    outputs = {output for key in keys.values() for output in key.outputs}
    members = load_members(session, chosen, outputs=outputs)
    texts = dict(session.execute(select(Output.id, Output.text).where(Output.id.in_(outputs))).all())
    added = {}
    for item_id, item in items.items():
        judgements = members.judgements.get(keys[item_id])
        if judgements is None:
            named = ", ".join(entry.campaign.slug for entry in chosen)
            raise InvalidInput(
                f"none of {named} has judged an item that {definition.slug!r} asks about; run them first, or select the data they have"
            )
        combined = combine(keys[item_id], judgements, definition, EnsembleSettings())
        remarks = {
            "annotators": [members.names[annotator] for annotator in combined.annotators],
            "scores": {members.names[annotator]: score for annotator, score in combined.scores.items()},
            "errors_withheld": [members.names[annotator] for annotator in combined.withheld],
            "outlier_rule": "two standard deviations and one point from the mean of all",
            **({"undecided": dict(combined.undecided)} if combined.undecided else {}),
        }
        # Each member's own errors, not the merged ones: to merge them is the consolidator's task.
        told = [
            _told(definition, entry.annotator, error, item, texts[combined.key.outputs[error.output]])
            for entry in judgements
            if entry.annotator not in combined.withheld
            for error in entry.errors
        ]
        added[item_id] = replace(item, errors=told, answers=combined.answers, remarks=remarks)
    return added


def _keys(session: Session, items: Mapping[int, AskedItem]) -> dict[int, ItemKey]:
    shown: dict[int, list[int]] = {}
    for item_id, output_id in session.execute(
        select(ItemOutput.item_id, ItemOutput.output_id).where(ItemOutput.item_id.in_(items))
    ):
        shown.setdefault(item_id, []).append(output_id)
    return {item_id: ItemKey(tuple(sorted(outputs)), items[item_id].aspect) for item_id, outputs in shown.items()}


def _told(
    definition: CampaignDefinition, annotator: int, error: MarkedSpan, item: AskedItem, output_text: str
) -> ReportedError:
    text = item.source_texts.get(error.field or "", "") if error.side == "source" else output_text
    categories = {category.key: category.name for category in definition.categories}
    severities = {level.key: level.name for level in definition.severities}
    return ReportedError(
        annotator + 1,  # prompts count from 1
        text[error.start : error.end],
        categories.get(error.category, error.category),
        severities.get(error.severity or "", error.severity),
        error.reason,
    )
