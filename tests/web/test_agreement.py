"""The agreement page: any two campaigns, every figure with its meaning."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from spanplat.db import Database
from spanplat.services.agreement import compute_agreement
from spanplat.web.agreement_view import AgreementView

PAGE = "/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b"
FIGURES = PAGE.replace("/agreement?", "/agreement/figures?")
DOWNLOAD = PAGE.replace("/agreement?", "/agreement/figures.json?")


def test_without_a_choice_the_page_explains_what_to_choose(viewer: Any) -> None:
    text = viewer.get("/admin/agreement").text
    assert "Choose two campaigns" in text
    assert '<option value="demo-overlap">' in text


def test_figures_not_computed_yet_are_fetched_by_the_page(viewer: Any) -> None:
    text = viewer.get(PAGE).text
    assert 'hx-get="/admin/agreement/figures?reference=demo-sample-a&amp;hypothesis=demo-sample-b"' in text
    assert 'id="figures"' not in text


def test_without_scripts_the_page_computes_while_the_reader_waits(viewer: Any) -> None:
    assert 'id="figures"' in viewer.get(f"{PAGE}&wait=yes").text


def test_figures_computed_once_stand_on_the_page_at_once(viewer: Any) -> None:
    fragment = viewer.get(FIGURES).text
    assert fragment.strip() in viewer.get(PAGE).text


def test_the_cards_show_the_figures_of_the_command_line(viewer: Any, demo: Database) -> None:
    text = viewer.get(FIGURES).text
    result = compute_agreement(demo, "demo-sample-a", "demo-sample-b")
    for value in (
        result["char"]["hard"]["f1"],
        result["char"]["soft"]["recall"],
        result["gamma"]["hard"]["mean"],
        result["gamma"]["soft"]["mean"],
        result["s_empty"]["mean"],
        result["pearson"]["micro"],
    ):
        assert f"{value:.3f}" in text
    assert f"mean over {result['gamma']['hard']['outputs']} of 36 outputs" in text
    assert result["signature"] in text


def test_every_card_says_what_it_measures_and_what_it_ignores(viewer: Any) -> None:
    text = viewer.get(FIGURES).text
    assert text.count('<div class="card">') == 6
    for word in ("Measures", "Ignores", "Variant", "Signature"):
        assert text.count(f"<strong>{word}</strong>") == 6


def test_the_confusion_matrix_is_a_table_with_a_shade_for_each_share(viewer: Any) -> None:
    table = viewer.get(FIGURES).text.split('<table class="heat">')[1].split("</table>")[0]
    assert '<th scope="col">none</th>' in table
    assert "heat-9" in table or "heat-8" in table


def test_the_download_is_what_the_command_line_prints(viewer: Any, demo: Database) -> None:
    assert viewer.get(DOWNLOAD).json == compute_agreement(demo, "demo-sample-a", "demo-sample-b")


def test_filters_and_rules_are_in_the_address_and_in_the_permanent_link(viewer: Any) -> None:
    address = f"{FIGURES}&system=larkspur&empty=skip&rule=each&utm_source=mail"
    text = viewer.get(address).text
    assert "&amp;rule=each&amp;empty=skip&amp;system=" in text
    assert "utm_source" not in text


def test_exchanging_the_sides_exchanges_their_rules(viewer: Any) -> None:
    text = viewer.get(f"{PAGE}&rule=each").text
    assert (
        'href="/admin/agreement?reference=demo-sample-b&amp;hypothesis=demo-sample-a&amp;hypothesis_rule=each"' in text
    )


def test_campaigns_without_a_common_output_are_told_what_to_do(viewer: Any) -> None:
    text = viewer.get(FIGURES.replace("demo-sample-b", "demo-people")).text
    assert "Nothing to compare" in text
    assert "has no completed annotation" in text


@pytest.mark.parametrize("wrong", ["rule=best", "matching=magic", "samples=many", "empty=maybe"])
def test_an_address_that_asks_for_the_impossible_is_refused(viewer: Any, wrong: str) -> None:
    response = viewer.get(f"{PAGE}&{wrong}")
    assert response.status_code == 422
    assert wrong.split("=", maxsplit=1)[0] in response.text


def test_an_unknown_campaign_is_not_found(viewer: Any) -> None:
    assert viewer.get(PAGE.replace("demo-sample-b", "nothing")).status_code == 404


@pytest.fixture
def in_english(app: Flask) -> Iterator[None]:
    """A request, in whose language the page speaks."""
    with app.test_request_context():
        yield


RESULT: dict[str, Any] = {
    "reference": {"campaign": "a", "rule": "first", "spans": 0},
    "hypothesis": {"campaign": "b", "rule": "pairs", "spans": 3},
    "outputs": 4,
    "char": {
        "hard": {"precision": None, "recall": 1.0, "f1": 0.0},
        "soft": {"precision": 0.5, "recall": 1.0, "f1": 0.6},
    },
    "gamma": {"hard": {"mean": None, "outputs": 0}, "soft": {"mean": -0.25, "outputs": 6}, "alpha": 1.0, "seed": 42},
    "confusion": {"labels": ["x", "none"], "matrix": [[3, 1], [0, 0]]},
    "pearson": {"micro": None, "macro": None, "per_category": {"x": None}},
    "undefined": {"gamma.hard": "no output has spans of both sides", "pearson.per_category.x": "x does not vary"},
    "signature": "s",
}


def test_an_undefined_figure_has_the_reason_of_its_measure() -> None:
    figure = AgreementView(RESULT).figure("gamma", "hard", "mean")
    assert (figure.value, figure.reason) == (None, "no output has spans of both sides")


def test_a_mean_over_pairs_of_annotators_is_called_one_over_comparisons(in_english: None) -> None:
    del in_english
    notes = {card.key: card.note for card in AgreementView(RESULT).cards}
    assert notes["gamma_hard"] == "mean over 0 of 4 outputs"
    assert notes["gamma_soft"] == "mean over 6 comparisons of 4 outputs"


def test_shades_follow_the_share_of_the_row() -> None:
    first, none = AgreementView(RESULT).confusion
    assert [(cell.count, cell.share, cell.level) for cell in first.cells] == [(3, 0.75, 7), (1, 0.25, 2)]
    assert [(cell.share, cell.level) for cell in none.cells] == [(None, 0), (None, 0)]


def test_the_table_by_category_leaves_out_what_the_result_does_not_have(in_english: None) -> None:
    del in_english
    table = AgreementView(RESULT).by_category
    assert table.columns == ["ρ (counts)"]
    assert table.rows[0].figures[0].reason == "x does not vary"
