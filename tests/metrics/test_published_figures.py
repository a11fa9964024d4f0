"""The figures published for "LLMs as span annotators" come out to the last printed digit."""

from collections.abc import Callable

import pytest

from spanplat.metrics import Comparison, char, count_correlation, gamma, s_empty, statistics
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
