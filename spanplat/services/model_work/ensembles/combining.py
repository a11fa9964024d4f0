"""Combination of several judgements into one, without access to the database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spanplat.llm.ensemble import LEAST_OVERLAP, MOST, MergedError, merge_errors
from spanplat.metrics.ensembles import outliers
from spanplat.metrics.ratings import Aggregation, aggregate
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import AnyQuestion, NoErrorsQuestion
from spanplat.schemas.questions.numbers import is_number
from spanplat.services.model_work.ensembles.members import ItemKey, Judgement


@dataclass(frozen=True)
class EnsembleSettings:
    """Settings of the combination."""

    aggregation: Aggregation = "mean"
    """Aggregation of scores. The default is the plain mean of all annotators."""
    question: str | None = None
    """Question whose answers show outliers. The default is the first one on a scale."""
    least_overlap: float = LEAST_OVERLAP
    least_votes: int = 1
    most: int = MOST


@dataclass(frozen=True)
class CombinedJudgement:
    """Combined judgement of an ensemble on one item."""

    key: ItemKey
    outputs: tuple[int, ...]
    """Ids, in the order that the answers refer to. It is the order that the first annotator saw."""
    answers: dict[str, Any]
    errors: Sequence[MergedError]
    scores: Mapping[int, float]
    """Answers to the question that shows outliers, by annotator."""
    withheld: Sequence[int]
    """Outlying annotators. Their errors are left out, but their scores count."""
    annotators: Sequence[int]
    undecided: Mapping[str, str] = field(default_factory=dict)
    """Votes without a majority, by key of the question. Such a question has no answer."""


def score_question(definition: CampaignDefinition, wanted: str | None) -> str | None:
    """Return the key of the question whose answers are scores: the given one, else the first on a scale."""
    scales = [question.key for question in definition.questions if question.scale is not None]
    if wanted is not None:
        return wanted if wanted in scales else None
    return scales[0] if scales else None


def combine(
    key: ItemKey, judgements: Sequence[Judgement], definition: CampaignDefinition, settings: EnsembleSettings
) -> CombinedJudgement:
    """Combine several judgements on the same item into one.

    Parameters
    ----------
    key
        The item.
    judgements
        Judgements of the ensemble's annotators, in their order.
    definition
        Definition with the questions and severities.
    settings
        Settings of the combination.

    Returns
    -------
    CombinedJudgement
        The scores are aggregated over all annotators. Votes are counted. Without a majority there is no answer, or a tie if the
        question offers one. Errors are merged by overlap. Errors of annotators with outlying scores are left out (see
        `spanplat.metrics.ensembles.outliers`).
    """
    shown = judgements[0].outputs
    question = score_question(definition, settings.question)
    scores = {
        judgement.annotator: float(judgement.answers[question])
        for judgement in judgements
        if question is not None and is_number(judgement.answers.get(question))
    }
    # Only annotators with a score can be outliers. The others keep their errors.
    column = np.array(list(scores.values()), dtype=np.float64).reshape(-1, 1)
    withheld = [annotator for annotator, is_outlier in zip(scores, outliers(column)[:, 0], strict=True) if is_outlier]
    errors = merge_errors(
        [
            (judgement.annotator, error)
            for judgement in judgements
            if judgement.annotator not in withheld
            for error in judgement.errors
        ],
        severities=[level.key for level in definition.severities],
        least_overlap=settings.least_overlap,
        least_votes=settings.least_votes,
        most=settings.most,
    )
    answers: dict[str, Any] = {}
    undecided: dict[str, str] = {}
    for entry in definition.questions:
        votes = _votes(entry, judgements, shown)
        answer = _combined_answer(entry, votes, settings.aggregation)
        if answer is not None:
            answers[entry.key] = answer
        # Without votes, nobody answered, which is no split vote.
        elif votes and entry.is_voted_on:
            undecided[entry.key] = f"no majority: {_counted(votes)}"
    # The boxes "nothing to mark" follow from the merged errors, whatever the annotators ticked.
    boxes = {entry.key: not errors for entry in definition.questions if isinstance(entry, NoErrorsQuestion)}
    everybody = [judgement.annotator for judgement in judgements]
    return CombinedJudgement(key, shown, answers | boxes, errors, scores, withheld, everybody, undecided)


def _votes(question: AnyQuestion, judgements: Sequence[Judgement], shown: tuple[int, ...]) -> list[Any]:
    """Return the answers to a question. Preferences are turned to the order of the ensemble's item."""
    given = [
        (judgement, judgement.answers[question.key]) for judgement in judgements if question.key in judgement.answers
    ]
    return [answer if judgement.outputs == shown else question.turned(answer) for judgement, answer in given]


def _combined_answer(question: AnyQuestion, answers: Sequence[Any], method: Aggregation) -> Any:
    """Return the common answer, or None if nobody answered or no answer has the majority."""

    def average(numbers: Sequence[float]) -> float:
        return float(aggregate(np.array(numbers).reshape(-1, 1), method=method)[0])

    return question.combine(answers, average) if answers else None


def _counted(votes: Sequence[Any]) -> str:
    """Format votes as ``first 2, second 2``, the most frequent first."""
    return ", ".join(f"{answer} {number}" for answer, number in Counter(map(str, votes)).most_common())
