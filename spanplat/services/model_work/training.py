"""Examples for supervised fine-tuning: a short prompt, and the reply that a campaign's annotations make."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
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
from spanplat.models.revisions import counted
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import AnyQuestion
from spanplat.services.campaigns import definition_of, find_campaign

PARTS = ("train", "validation", "test")
SHARES = (80.0, 10.0, 10.0)
_AT_ONCE = 500


@dataclass(frozen=True)
class TrainingExample:
    """One example and its part: training, validation or test."""

    part: str
    prompt: str
    reply: str

    def line(self) -> str:
        """Return the example as one line of JSON, in the chat format of providers and trainers."""
        messages = [{"role": "user", "content": self.prompt}, {"role": "assistant", "content": self.reply}]
        return json.dumps({"messages": messages}, ensure_ascii=False) + "\n"


def training_examples(
    session: Session, slug: str, *, shares: Sequence[float] = SHARES, seed: int = 42
) -> list[TrainingExample]:
    """Return examples made of a campaign's finished annotations, split so that no source and no text is in two parts.

    If several people annotated an item, scores are averaged, and the errors are those of the first. To merge errors, make an ensemble.
    Attention checks are left out, because their texts or questions are made up. Annotations excluded from figures are left out too.

    Parameters
    ----------
    session
        A reading session.
    slug
        A campaign of people, of models, or imported.
    shares
        Shares of training, validation and test.
    seed
        Seed of the split.

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
    """Check that the annotations of a campaign can be training data.

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
    """Return the files of the parts by name, as JSON lines. A part without examples is an empty file."""
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
    # Exact fractions: with floats, means that lie halfway between two steps would round up or down by chance.
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
        # groupby needs the annotations of an item side by side. The first of them, by seat, gives the errors.
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
    """Return keys, prompt and reply of an item, or None if there is nothing to put into the reply."""
    scores = _scores(_scales(definition), [annotation.answers for annotation in annotations])
    if not definition.categories and not scores:
        return None
    item = annotations[0].item
    output = item.outputs[0].output
    source = output.example.source
    # Equal texts and equal sources occur in several examples. Their keys keep them in one part, so that no test text was trained on.
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


def _scales(definition: CampaignDefinition) -> list[AnyQuestion]:
    return [entry for entry in definition.questions if entry.scale is not None]


def _scores(scales: Sequence[AnyQuestion], answers: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the scores by the label of their question. Questions that nobody answered are left out."""
    scores = {}
    for scale in scales:
        given = [own[scale.key] for own in answers if isinstance(own.get(scale.key), int | float)]
        if given and scale.scale is not None:
            scores[scale.label.rstrip(" .:?!")] = score_of(given, *scale.scale)
    return scores


def split_apart(keys: Sequence[Sequence[Hashable]], shares: Sequence[float], *, seed: int = 42) -> list[int]:
    """Assign each example to a part. Examples with a common key are in the same part.

    Parameters
    ----------
    keys
        Keys of each example: things that must not be in two parts, such as its source and its text.
    shares
        Sizes of the parts, in any unit. The result is as near to them as the groups allow.
    seed
        Seed of the order in which groups are assigned. The order depends only on the seed and the keys.

    Returns
    -------
    list of int
        The part of each example.

    Raises
    ------
    InvalidInput
        If no share is above 0, or one is below.

    Examples
    --------
    >>> split_apart([["a"], ["b"], ["a", "c"], ["c"]], [1])
    [0, 0, 0, 0]
    """
    if not shares or min(shares) < 0 or sum(shares) <= 0:
        raise InvalidInput(
            "shares are the sizes of the parts, such as 80 10 10; none is negative, and at least one is above 0"
        )
    groups = _linked(keys)
    members: dict[int, list[int]] = {}
    for example, group in enumerate(groups):
        members.setdefault(group, []).append(example)
    wanted = [share / sum(shares) * len(keys) for share in shares]
    filled = [0] * len(shares)
    parts = [0] * len(keys)
    # Each group goes to the part that misses the most examples. A part with share 0 gets nothing.
    for together in sorted(members.values(), key=lambda own: _lot(keys, own, seed)):
        part = max(
            range(len(shares)), key=lambda place: wanted[place] - filled[place] if wanted[place] else float("-inf")
        )
        filled[part] += len(together)
        for example in together:
            parts[example] = part
    return parts


def _linked(keys: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return, for each example, the first example that it is linked with by common keys, directly or through others."""
    parents = list(range(len(keys)))

    def root(example: int) -> int:
        while parents[example] != example:
            parents[example] = parents[parents[example]]  # shorten the path (union-find)
            example = parents[example]
        return example

    first: dict[Hashable, int] = {}
    for example, own in enumerate(keys):
        for key in own:
            one, other = sorted((root(first.setdefault(key, example)), root(example)))
            parents[other] = one
    return [root(example) for example in range(len(keys))]


def _lot(keys: Sequence[Sequence[Hashable]], members: Sequence[int], seed: int) -> str:
    """Return the sort key of a group. It depends only on the group's keys and the seed, so other data do not change it."""
    # Not random.shuffle: its result changes for every group when one is added.
    lots = (hashlib.sha256(f"{seed}:{key!r}".encode()).hexdigest() for member in members for key in keys[member])
    return min(lots, default="")
