"""One judgement from several: the decisions, without the tables."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spanplat.llm.ensemble import LEAST_OVERLAP, MOST, MergedError, merge_errors
from spanplat.metrics.ensembles import outliers
from spanplat.metrics.ratings import Aggregation, aggregate
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import (
    AnyQuestion,
    CheckboxQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    LikertQuestion,
    NoErrorsQuestion,
    PairQuestion,
    SliderQuestion,
)
from spanplat.services.ensembles.members import ItemKey, Judgement

VOTED_ON = (CheckboxQuestion, ChoiceQuestion, PairQuestion)
"""Questions whose answer is that of more than half."""


@dataclass(frozen=True)
class EnsembleSettings:
    """How several judgements become one."""

    aggregation: Aggregation = "mean"
    """Of scores; the plain mean of all annotators unless one asks for another."""
    question: str | None = None
    """The question whose answers tell outliers; the first on a scale by default."""
    least_overlap: float = LEAST_OVERLAP
    least_votes: int = 1
    most: int = MOST


@dataclass(frozen=True)
class Combined:
    """What an ensemble says of one item."""

    key: ItemKey
    outputs: tuple[int, ...]
    """In the order its answers refer to: the first annotator's."""
    answers: dict[str, Any]
    errors: Sequence[MergedError]
    scores: Mapping[int, float]
    """By annotator, on the question that tells outliers."""
    withheld: Sequence[int]
    """Annotators out of line, whose errors were left out; their scores count all the same."""
    annotators: Sequence[int]
    undecided: Mapping[str, str] = field(default_factory=dict)
    """By key of the question, the votes that no majority came of; it has no answer then."""


def score_question(definition: CampaignDefinition, wanted: str | None) -> str | None:
    """Return the key of the question whose answers are scores: the one wanted, else the first on a scale."""
    scales = [
        question.key for question in definition.questions if isinstance(question, (LikertQuestion, SliderQuestion))
    ]
    if wanted is not None:
        return wanted if wanted in scales else None
    return scales[0] if scales else None


def combine(
    key: ItemKey, judgements: Sequence[Judgement], definition: CampaignDefinition, settings: EnsembleSettings
) -> Combined:
    """Make one judgement of several on the same item.

    Parameters
    ----------
    key
        The item.
    judgements
        Of the ensemble's annotators, in their order.
    definition
        The questions and severities.
    settings
        How.

    Returns
    -------
    Combined
        Scores are aggregated over all annotators, votes counted (without a majority there is no answer, or a tie where the question
        offers one); errors are merged by overlap, without those of annotators whose score
        is out of line with all (see `spanplat.metrics.ensembles.outliers`).
    """
    shown = judgements[0].outputs
    question = score_question(definition, settings.question)
    scores = {
        judgement.annotator: float(judgement.answers[question])
        for judgement in judgements
        if question is not None and _is_number(judgement.answers.get(question))
    }
    column = np.array(list(scores.values()), dtype=np.float64).reshape(-1, 1)
    withheld = [annotator for annotator, is_outlier in zip(scores, outliers(column)[:, 0], strict=True) if is_outlier]
    errors = merge_errors(
        [error for judgement in judgements if judgement.annotator not in withheld for error in judgement.errors],
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
        elif votes and isinstance(entry, VOTED_ON):
            undecided[entry.key] = f"no majority: {_counted(votes)}"
    boxes = {entry.key: not errors for entry in definition.questions if isinstance(entry, NoErrorsQuestion)}
    everybody = [judgement.annotator for judgement in judgements]
    return Combined(key, shown, answers | boxes, errors, scores, withheld, everybody, undecided)


def _votes(question: AnyQuestion, judgements: Sequence[Judgement], shown: tuple[int, ...]) -> list[Any]:
    """Return the answers given to a question; preferences in the order of the ensemble's item."""
    given = [judgement for judgement in judgements if question.key in judgement.answers]
    if isinstance(question, PairQuestion):
        return [_as_shown(judgement.answers[question.key], judgement, shown) for judgement in given]
    return [judgement.answers[question.key] for judgement in given]


def _combined_answer(question: AnyQuestion, answers: Sequence[Any], method: Aggregation) -> Any:
    """Return the answer of all; None where nobody answered, or no answer has the majority."""
    if not answers:
        return None
    match question:
        case LikertQuestion() | SliderQuestion():
            numbers = [float(answer) for answer in answers if _is_number(answer)]
            return float(aggregate(np.array(numbers).reshape(-1, 1), method=method)[0]) if numbers else None
        case CheckboxQuestion() | ChoiceQuestion():
            return _majority(answers)
        case ChoicesQuestion():
            votes = Counter(key for answer in answers if isinstance(answer, list) for key in answer)
            return [option.key for option in question.options if 2 * votes[option.key] > len(answers)]
        case PairQuestion():
            return _majority(answers) or ("tie" if question.tie else None)
        case _:
            return None


def _as_shown(answer: Any, judgement: Judgement, shown: tuple[int, ...]) -> Any:
    """Return a preference in the order of the ensemble's item, whichever order this annotator saw."""
    turned = {"first": "second", "second": "first"}
    return answer if judgement.outputs == shown else turned.get(answer, answer)


def _majority(answers: Sequence[Any]) -> Any:
    """Return the answer that more than half gave; None if there is none."""
    answer, votes = Counter(answers).most_common(1)[0]
    return answer if 2 * votes > len(answers) else None


def _counted(votes: Sequence[Any]) -> str:
    """Write votes as ``first 2, second 2``, the most frequent first."""
    return ", ".join(f"{answer} {number}" for answer, number in Counter(map(str, votes)).most_common())


def _is_number(answer: Any) -> bool:
    return isinstance(answer, (int, float)) and not isinstance(answer, bool)
