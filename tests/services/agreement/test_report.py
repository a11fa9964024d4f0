"""Conversion of agreement reports to JSON and back."""

from typing import Any

import pytest

from spanplat.metrics import PRECISION_RECALL, Comparison, agreement_report
from spanplat.services.agreement.leaderboard_report import MeasuredFigure, RankedFigure
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.background.reports import to_json

SIDES = {
    "reference": {"campaign": "people", "rule": "first", "spans": 2},
    "hypothesis": {"campaign": "model", "rule": "first", "spans": 2},
    "outputs_reference_only": 0,
    "outputs_hypothesis_only": 1,
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """A whole report in JSON, with a ceiling."""
    pair = Comparison.of([[(0, 3, 0), (5, 9, 1)], []], [[(0, 4, 0)], [(1, 2, 1)]], ["wrong", "unclear"])
    figures = agreement_report(pair, n_bootstrap=20)
    own = {name: figures[name] for name in ("outputs", "char", "intervals")}
    people = {name: figures[name] for name in ("outputs", "char", "gamma", "s_empty", "pearson", "intervals")}
    return {**SIDES, **figures, "ceiling": {"rules": ["first", "each"], **people, "hypothesis": own}}


def test_a_report_gives_back_the_json_it_was_read_from(document: dict[str, Any]) -> None:
    assert AgreementReport.from_json(document).as_json() == document


def test_figures_have_names_in_the_program(document: dict[str, Any]) -> None:
    report = AgreementReport.from_json(document)

    assert list(report.measures) == list(PRECISION_RECALL)
    assert report.measures["char"].hard.micro.f1 == document["char"]["hard"]["f1"]
    assert report.measures["exact"].soft.macro.recall == document["exact"]["soft"]["macro"]["recall"]
    assert report.ceiling is not None
    assert report.ceiling.hypothesis.char.soft.micro.f1 == document["char"]["soft"]["f1"]


def test_stages_that_are_not_computed_yet_have_no_figures(document: dict[str, Any]) -> None:
    early = {name: value for name, value in document.items() if "gamma" not in name and name != "ceiling"}
    report = AgreementReport.from_json(early)

    assert (report.gamma, report.gamma_cat, report.ceiling) == (None, None, None)
    assert "gamma" not in report.as_json()


def test_only_an_undefined_figure_has_a_reason_and_only_a_ranked_one_a_rank() -> None:
    undefined = MeasuredFigure(value=None, reason="nothing was marked", low=None, high=None, outputs=0)
    ranked = RankedFigure(value=0.5, low=0.4, high=0.6, outputs=9, rank=1, cluster=1)

    assert to_json(undefined) == {
        "value": None,
        "reason": "nothing was marked",
        "low": None,
        "high": None,
        "outputs": 0,
    }
    assert to_json(ranked) == {"value": 0.5, "low": 0.4, "high": 0.6, "outputs": 9, "rank": 1, "cluster": 1}
