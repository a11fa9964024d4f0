"""Report with every figure under the name that users rely on."""

import json

import numpy as np
import pytest

from spanplat.errors import InvalidInput
from spanplat.metrics import (
    Comparison,
    GammaOptions,
    SpanSet,
    agreement_report,
    char,
    gamma,
    gamma_of_annotators,
    gamma_report,
    partial_credit,
)

PRF = {"precision", "recall", "f1"}
REFERENCE = [[(0, 9, 0), (16, 19, 1)], [(3, 8, 0)], [], [(1, 5, 1)]]
HYPOTHESIS = [[(4, 9, 0), (16, 19, 0)], [(2, 8, 0), (30, 40, 1)], [], []]


@pytest.fixture
def pair() -> Comparison:
    plain = Comparison.of(REFERENCE, HYPOTHESIS, ["wrong", "unclear"])
    return Comparison(plain.reference, plain.hypothesis, plain.categories, {"dataset": np.array([0, 0, 1, 1])})


def test_every_family_has_both_variants_and_averages(pair: Comparison) -> None:
    report = agreement_report(pair, by="dataset")

    for family in ("char_binary", "exact", "partial", "partial_credit", "best_match", "span_average"):
        for variant in ("hard", "soft"):
            assert set(report[family][variant]) == {"micro", "macro", "strata"}
            assert all(set(scores) == PRF for scores in report[family][variant].values())
            assert set(report["macro_f_of_means"][family][variant]) == PRF
    assert set(report["char"]["hard"]) == PRF | {"macro", "strata"}
    assert report["char"]["delta"] == report["char"]["soft"]["f1"] - report["char"]["hard"]["f1"]


def test_the_figures_are_those_of_the_measures(pair: Comparison) -> None:
    report = agreement_report(pair, matching="greedy", seed=7, n_samples=12)

    assert report["char"]["soft"]["f1"] == char(pair, soft=True).f1
    assert (
        report["partial_credit"]["hard"]["macro"]["f1"] == partial_credit(pair, matching="greedy", average="macro").f1
    )
    assert report["gamma"]["hard"]["mean"] == gamma(pair, seed=7, n_samples=12).mean
    assert (report["gamma"]["samples"], report["gamma"]["seed"]) == (12, 7)
    assert report["per_category"]["wrong"]["spans"] == {"reference": 2, "hypothesis": 3}
    assert report["per_category"]["wrong"]["char"]["f1"] == char(pair.of_category(0)).f1


def test_strata_average_the_groups(pair: Comparison) -> None:
    groups = np.array([char(pair.select(np.array(rows))).f1 for rows in ([0, 1], [2, 3])], dtype=float)

    assert agreement_report(pair, by="dataset")["char"]["hard"]["strata"]["f1"] == pytest.approx(
        np.mean(np.array(groups, dtype=float))
    )


def test_skipping_empty_outputs_touches_characters_only(pair: Comparison) -> None:
    kept, skipped = (agreement_report(pair, empty=empty) for empty in ("include", "skip"))

    assert skipped["char"]["hard"]["recall"] > kept["char"]["hard"]["recall"]
    assert skipped["exact"] == kept["exact"]


def test_the_report_is_one_json_document(pair: Comparison) -> None:
    report = agreement_report(pair, n_bootstrap=20, by="dataset")

    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_gamma_can_come_later(pair: Comparison) -> None:
    headline, everything = agreement_report(pair, with_gamma=False), agreement_report(pair)

    assert "gamma" not in headline
    assert headline["char"] == everything["char"]


def test_an_undefined_figure_is_null_with_a_reason() -> None:
    report = agreement_report(Comparison.of([[]], [[(0, 4, 0)]], ["wrong"]))

    assert report["gamma"]["hard"]["mean"] is None
    assert report["undefined"]["gamma.hard.mean"] == "no output has spans of two annotators"
    assert report["pearson"]["micro"] is None
    assert "pearson.micro" in report["undefined"]


def test_nothing_to_compare_is_undefined_throughout() -> None:
    report = agreement_report(Comparison.of([], [], ["wrong"]), n_bootstrap=10)

    assert report["char"]["hard"]["f1"] is None
    assert report["undefined"]["char"] == "no output to compare"
    assert report["intervals"] == {}


def test_an_unknown_grouping_is_named(pair: Comparison) -> None:
    with pytest.raises(InvalidInput, match="this comparison has: dataset"):
        agreement_report(pair, by="system")


def test_confusion_counts_every_span_once(pair: Comparison) -> None:
    confusion = agreement_report(pair)["confusion"]
    matrix = np.array(confusion["matrix"])

    assert confusion["labels"] == ["wrong", "unclear", "none"]
    assert matrix[:-1].sum() == pair.reference.n_spans
    assert matrix[:, :-1].sum() == pair.hypothesis.n_spans


def test_an_output_compared_twice_counts_twice() -> None:
    once = Comparison.of([[(0, 4, 0)], [(0, 4, 0)]], [[(0, 4, 0)], [(2, 4, 0)]])
    twice = once.select(np.array([0, 0, 1]))

    assert twice.n_outputs == 3
    assert char(twice, average="macro").precision == 1.0
    assert char(twice).recall == pytest.approx(10 / 12)


def test_every_output_counts_for_gamma_or_for_silence() -> None:
    # A lone omission mark has no extent that could be aligned.
    pair = Comparison.of([[(0, 4, 0)], [(0, 4, 0)], []], [[(5, 5, 0)], [(1, 4, 0)], []])
    report = agreement_report(pair)

    assert report["gamma"]["hard"]["outputs"] + report["s_empty"]["outputs"] == pair.n_outputs
    assert report["s_empty"]["mean"] == pytest.approx((1 / 3 + 1) / 2)


def test_all_annotators_at_once() -> None:
    three = [SpanSet.from_lists([[(start, start + 9, 0)], [(3, 9, 1), (20, 30, 0)]]) for start in (0, 2, 5)]
    two = [SpanSet.from_lists([[(start, start + 12, 1)]]) for start in (0, 4)]
    options = GammaOptions(n_samples=10, seed=3)
    report = gamma_report([three, two], options, n_bootstrap=50)
    separate = [gamma_of_annotators(group, options).per_output["gamma"] for group in (three, two)]

    assert report["outputs"] == 3
    assert report["gamma"]["hard"]["mean"] == pytest.approx(np.concatenate(separate).mean())
    assert report["s_empty"]["mean"] is None
    assert "s_empty.mean" in report["undefined"]
    assert report["intervals"]["gamma.hard.mean"][0] <= report["gamma"]["hard"]["mean"]


def test_no_annotators_at_all_is_undefined() -> None:
    report = gamma_report([])

    assert (report["outputs"], report["gamma"]["soft"]["mean"]) == (0, None)
    assert report["undefined"]["gamma.soft.mean"]


def test_sides_without_spans_and_categories_have_figures_or_reasons() -> None:
    nothing = Comparison.of([[], [], []], [[], [], []])
    assert nothing.categories == ()

    report = agreement_report(nothing, n_bootstrap=10)

    assert report["s_empty"]["mean"] == 1.0
    assert report["pearson"] == {"micro": None, "macro": None, "totals": None, "per_category": {}}
    assert {"pearson.micro", "pearson.macro", "pearson.totals", "gamma.hard.mean"} <= set(report["undefined"])
