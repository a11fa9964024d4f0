"""The published figures of "LLMs as span annotators" are reproduced to the last printed digit."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from spanplat.metrics import (
    Comparison,
    Result,
    char,
    char_f1,
    count_correlation,
    exact,
    gamma,
    partial,
    partial_credit,
    s_empty,
    statistics,
)
from tests.metrics.conftest import CATEGORIES, Annotations, align, first_annotators

pytestmark = pytest.mark.data

# spans, per annotation, empty %, characters per span, rho, hard P/R, soft P/R, gamma hard/soft, S-empty, outputs with gamma
FIGURES = {
    "o3-mini": (1836, 1.53, 35.6, 58.0, 0.505, (0.351, 0.250), (0.486, 0.345), (0.2727, 0.2830), 0.637, 646),
    "gpt4o": (2284, 1.90, 4.8, 66.3, 0.346, (0.178, 0.180), (0.298, 0.301), (0.1298, 0.1358), 0.429, 826),
    "llama3-3": (3214, 2.68, 7.4, 65.5, 0.307, (0.131, 0.184), (0.272, 0.382), (0.1089, 0.1139), 0.418, 817),
}


def test_statistics_of_the_people(against_people: Comparison) -> None:
    people = statistics(against_people.reference, CATEGORIES)

    assert (people.annotations, people.spans) == (1200, 2981)
    assert (
        f"{people.spans_per_annotation:.2f} {people.empty_percent:.1f} {people.chars_per_span:.1f}" == "2.48 28.8 50.3"
    )


def test_statistics_of_a_model(model: str, against_people: Comparison) -> None:
    spans, per_annotation, empty, length, *_ = FIGURES[model]
    result = statistics(against_people.hypothesis, CATEGORIES)

    assert result.spans == spans
    assert result.spans_per_annotation == pytest.approx(per_annotation, abs=0.005)
    assert result.empty_percent == pytest.approx(empty, abs=0.05)
    assert result.chars_per_span == pytest.approx(length, abs=0.05)


def test_count_correlation(model: str, against_people: Comparison) -> None:
    assert count_correlation(against_people)["micro"] == pytest.approx(FIGURES[model][4], abs=0.0005)


@pytest.mark.parametrize(("soft", "column"), [(False, 5), (True, 6)])
def test_characters(model: str, against_people: Comparison, soft: bool, column: int) -> None:
    result = char(against_people, soft=soft)

    assert (result.precision, result.recall) == pytest.approx(FIGURES[model][column], abs=0.0005)


@pytest.mark.parametrize("soft", [False, True])
def test_gamma(model: str, against_people: Comparison, soft: bool) -> None:
    result = gamma(against_people, soft=soft)

    assert result.mean == pytest.approx(FIGURES[model][7][soft], abs=0.00005)
    assert result.outputs == FIGURES[model][9]


def test_silent_outputs(model: str, against_people: Comparison) -> None:
    result = s_empty([against_people.reference, against_people.hypothesis])

    assert result.mean == pytest.approx(FIGURES[model][8], abs=0.0005)
    assert result.outputs == 1200 - FIGURES[model][9]


def test_people_against_people(published: Callable[[str], Annotations]) -> None:
    groups = published("human/test")
    first, second = (
        {key: sides[group] for key, sides in groups.items() if group in sides and key[1] == "test"} for group in (0, 1)
    )
    pair = align(first, second)

    assert pair.n_outputs == 475
    assert (char(pair).precision, char(pair).recall) == pytest.approx((0.250, 0.201), abs=0.0005)
    assert (char(pair, soft=True).precision, char(pair, soft=True).recall) == pytest.approx((0.400, 0.321), abs=0.0005)
    assert gamma(pair).mean == pytest.approx(0.2532, abs=0.00005)
    assert gamma(pair).outputs == 229
    silent = s_empty([pair.reference, pair.hypothesis])
    assert silent.mean == pytest.approx(0.531, abs=0.0005)
    assert silent.outputs == 246


@pytest.mark.parametrize(
    ("prompt", "f1", "mean"),
    [
        ("zeroshot-llama3-3", 0.159, 0.132),
        ("noreason-llama3-3", 0.189, 0.126),
        ("5shot-llama3-3", 0.227, 0.175),
        ("cot-deepseek-r1", 0.212, 0.185),
    ],
)
def test_prompt_study(published: Callable[[str], Annotations], prompt: str, f1: float, mean: float) -> None:
    pair = align(first_annotators(published("human/dev")), first_annotators(published(f"model/dev/{prompt}")))

    assert char(pair).f1 == pytest.approx(f1, abs=0.0005)
    assert gamma(pair).mean == pytest.approx(mean, abs=0.0005)


MATCHED = {  # soft, micro, greedy: precision and recall of exact, partial, partial with credit; F1 of the last, greedy and optimal
    "o3-mini": ((0.0392, 0.0242), (0.6008, 0.3700), (0.4628, 0.2996), 0.3637, 0.36403),
    "gpt4o": ((0.0433, 0.0332), (0.4107, 0.3147), (0.2872, 0.2687), 0.27768, 0.27797),
    "llama3-3": ((0.0249, 0.0268), (0.3777, 0.4072), (0.2733, 0.3321), 0.2998, 0.30070),
}


@pytest.mark.parametrize(("measure", "column"), [(exact, 0), (partial, 1), (partial_credit, 2)])
def test_greedily_matched_spans(
    model: str, against_people: Comparison, measure: Callable[..., Result], column: int
) -> None:
    result = measure(against_people, soft=True, matching="greedy")

    assert (result.precision, result.recall) == pytest.approx(MATCHED[model][column], abs=0.00005)


def test_optimally_matched_spans(model: str, against_people: Comparison) -> None:
    greedy = partial_credit(against_people, soft=True, matching="greedy").f1
    optimal = partial_credit(against_people, soft=True).f1

    assert greedy == pytest.approx(MATCHED[model][3], abs=0.00005)
    assert optimal == pytest.approx(MATCHED[model][4], abs=0.000005)


def test_mean_over_all_pairs_of_annotators(published: Callable[[str], Annotations]) -> None:
    study = published("human/iaa")
    outputs = sorted(study)
    complete = sorted(set.intersection(*(set(groups) for groups in study.values())))
    means: dict[bool, list[float | None]] = {False: [], True: []}
    for one, other in combinations(complete, 2):
        pair = Comparison.of([study[key][one] for key in outputs], [study[key][other] for key in outputs], CATEGORIES)
        for soft, figures in means.items():
            figures.append(char(pair, soft=soft).f1)

    assert len(complete) == 28
    assert np.mean(np.array(means[False], dtype=float)) == pytest.approx(0.430, abs=0.0005)
    assert np.mean(np.array(means[True], dtype=float)) == pytest.approx(0.565, abs=0.0005)


def test_qualification(published: Callable[[str], Annotations]) -> None:
    gold = first_annotators(published("human/qualification/qualification-key"))
    work = published("human/qualification/qualification-task")
    workers = {worker for groups in work.values() for worker in groups}
    passed = 0
    for worker in workers:
        done = [key for key in gold if worker in work[key]]
        score = char_f1(Comparison.of([gold[key] for key in done], [work[key][worker] for key in done], CATEGORIES))
        assert score is not None
        passed += len(done) == len(gold) and score > 0.5

    assert (len(gold), len(workers), passed) == (5, 209, 52)
