"""Examples for supervised fine-tuning: what a model is asked in short, and the reply that a campaign's annotators agree on."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload, selectinload

from spanplat.errors import InvalidInput
from spanplat.llm.prompts.library import PROMPTS, part_source
from spanplat.llm.prompts.templates import render_template
from spanplat.llm.prompts.variables import source_as_text
from spanplat.models import Annotation, Assignment, BatchItem, Item, ItemOutput, ItemRole, Output, Span
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import LikertQuestion, SliderQuestion
from spanplat.services.campaigns import find_campaign
from spanplat.services.definitions import definition_of
from spanplat.services.revisions import counted
from spanplat.services.training.splitting import split_apart

PARTS = ("train", "validation", "test")
SHARES = (80.0, 10.0, 10.0)
_AT_ONCE = 500


@dataclass(frozen=True)
class TrainingExample:
    """One example, and the part it is for."""

    part: str
    prompt: str
    reply: str

    def line(self) -> str:
        """Return it in the chat format that providers and trainers read, as one line of JSON."""
        messages = [{"role": "user", "content": self.prompt}, {"role": "assistant", "content": self.reply}]
        return json.dumps({"messages": messages}, ensure_ascii=False) + "\n"


def training_examples(
    session: Session, slug: str, *, shares: Sequence[float] = SHARES, seed: int = 42
) -> list[TrainingExample]:
    """Return the examples that a campaign's finished annotations make, split so that no source and no text is in two parts.

    Of an item that several annotated, scores are averaged and the errors are those of the first; an ensemble puts errors together.
    Attention checks are left out, for their texts or what they ask are made up, and so is what is in no figure.

    Parameters
    ----------
    session
        A reading session.
    slug
        A campaign of people, of models, or imported.
    shares
        Of training, validation and test.
    seed
        Of the split.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If its items are pairs or single spans, it has nothing to learn, or nothing is finished.
    """
    campaign = find_campaign(session, slug)
    definition = definition_of(campaign)
    check_learnable(definition)
    if len(shares) > len(PARTS):
        raise InvalidInput(f"there are {len(PARTS)} parts ({', '.join(PARTS)}); give at most as many shares")
    made = list(_examples(session, campaign.id, definition))
    if not made:
        missing = "" if definition.categories else " with a score"
        raise InvalidInput(f"campaign {slug!r} has no finished annotation{missing} to make examples of")
    parts = split_apart([keys for keys, _, _ in made], shares, seed=seed)
    return [TrainingExample(PARTS[part], prompt, reply) for part, (_, prompt, reply) in zip(parts, made, strict=True)]


def check_learnable(definition: CampaignDefinition) -> None:
    """Make sure that the annotations of a campaign can be training data.

    Raises
    ------
    InvalidInput
        If its items are pairs or single spans, or it asks for nothing that a reply could hold.
    """
    if definition.item.kind not in ("output", "aspect"):
        raise InvalidInput(
            f"campaign {definition.slug!r} judges {definition.item.kind}s; training data are made of judgements of one text"
        )
    if not definition.categories and not _scales(definition):
        raise InvalidInput(
            f"campaign {definition.slug!r} has neither categories nor questions on a scale, "
            "so that a reply would hold nothing to learn"
        )


def training_files(examples: Sequence[TrainingExample]) -> dict[str, str]:
    """Return the file of each part, as JSON lines, by its name; a part without examples is an empty file."""
    return {f"{part}.jsonl": "".join(example.line() for example in examples if example.part == part) for part in PARTS}


def count_parts(examples: Sequence[TrainingExample]) -> dict[str, int]:
    """Count the examples of each part."""
    counts = Counter(example.part for example in examples)
    return {part: counts[part] for part in PARTS}


def score_of(ratings: Sequence[float], lowest: float = 1, highest: float = 5) -> int:
    """Return the score of several ratings on 0 to 100 in steps of 5: 5·round(20·(mean − lowest)/(highest − lowest)), half up.

    >>> score_of([4, 5]), score_of([1]), score_of([2, 3, 3]), score_of([1.1])
    (90, 0, 40, 5)
    """
    exact = [Fraction(str(rating)) for rating in ratings]
    low, high = Fraction(str(lowest)), Fraction(str(highest))
    steps = 20 * (sum(exact, Fraction(0)) / len(exact) - low) / (high - low)
    return 5 * math.floor(steps + Fraction(1, 2))


def _examples(
    session: Session, campaign_id: int, definition: CampaignDefinition
) -> Iterator[tuple[list[str], str, str]]:
    """Yield keys, prompt and reply of each item."""
    annotated = (
        select(Annotation.id, Annotation.item_id)
        .join(Assignment, Assignment.id == Annotation.assignment_id)
        .join(BatchItem, (BatchItem.batch_id == Assignment.batch_id) & (BatchItem.item_id == Annotation.item_id))
        .where(Assignment.campaign_id == campaign_id, BatchItem.role == ItemRole.REGULAR, *counted())
        .order_by(Annotation.item_id, Assignment.slot, Annotation.id)
    )
    items = [[row[0] for row in rows] for _, rows in groupby(session.execute(annotated).all(), key=lambda row: row[1])]
    for first in range(0, len(items), _AT_ONCE):
        chunk = items[first : first + _AT_ONCE]
        loaded = {
            entry.id: entry
            for entry in session.scalars(
                select(Annotation)
                .where(Annotation.id.in_([identifier for own in chunk for identifier in own]))
                .options(
                    selectinload(Annotation.spans).joinedload(Span.category),
                    joinedload(Annotation.item)
                    .selectinload(Item.outputs)
                    .joinedload(ItemOutput.output)
                    .joinedload(Output.example),
                )
            ).unique()
        }
        for own in chunk:
            made = _example(definition, [loaded[identifier] for identifier in own])
            if made is not None:
                yield made


def _example(definition: CampaignDefinition, annotations: Sequence[Annotation]) -> tuple[list[str], str, str] | None:
    """Return keys, prompt and reply of an item; None where nobody gave what the reply would hold."""
    scores = _scores(_scales(definition), [annotation.answers for annotation in annotations])
    if not definition.categories and not scores:
        return None
    item = annotations[0].item
    output = item.outputs[0].output
    source = output.example.source
    keys = [f"example {output.example_id}", f"text {output.text_sha256}"]
    if source not in (None, "", {}, []):
        keys.append(f"source {hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()}")
    variables = {
        "text": output.text,
        "source_text": source_as_text(source),
        "categories": [category.name for category in definition.categories],
        "severities": [level.name for level in definition.severities],
        "scores": list(scores),
        "aspect": next((aspect for aspect in definition.item.aspects if aspect.key == item.aspect), None),
    }
    prompt = render_template("training", (PROMPTS / "training.jinja").read_text("utf-8"), part_source, variables)
    reply: dict[str, Any] = {}
    if definition.categories:
        severities = {level.key: level.name for level in definition.severities}
        spans = sorted(annotations[0].spans, key=lambda span: span.start_offset)
        reply["errors"] = [_error(span, severities) for span in spans]
    if scores:
        reply["scores"] = scores
    return keys, prompt, json.dumps(reply, ensure_ascii=False)


def _error(span: Span, severities: Mapping[str, str]) -> dict[str, str]:
    severity = severities.get(span.severity, span.severity) if span.severity else None
    said = {"reason": span.reason, "text": span.text, "category": span.category.name, "severity": severity}
    return {name: value for name, value in said.items() if value}


def _scales(definition: CampaignDefinition) -> list[LikertQuestion | SliderQuestion]:
    return [entry for entry in definition.questions if isinstance(entry, (LikertQuestion, SliderQuestion))]


def _scores(scales: Sequence[LikertQuestion | SliderQuestion], answers: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the scores that somebody gave, by what they are of."""
    scores = {}
    for scale in scales:
        given = [own[scale.key] for own in answers if isinstance(own.get(scale.key), int | float)]
        ends = (1, scale.points) if isinstance(scale, LikertQuestion) else (scale.minimum, scale.maximum)
        if given:
            scores[scale.label.rstrip(" .:?!")] = score_of(given, *ends)
    return scores
