"""The agreement page of any two campaigns, with an explanation of each figure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from spanplat.db import Database
from spanplat.formats.native import write_jsonl
from spanplat.models import Annotation, Assignment, Batch, Campaign, Category
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.agreement.comparison import AgreementOptions, compute_agreement
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.campaigns.exports import export_records
from spanplat.services.campaigns.importing import import_campaign
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.web.agreement.agreement_view import AgreementView

PAGE = "/admin/agreement?reference=demo-sample-a&hypothesis=demo-sample-b"
PART = PAGE.replace("/agreement?", "/computed/agreement?")
DOWNLOAD = PAGE.replace("/agreement?", "/agreement/figures.json?")


@pytest.fixture
def shown(viewer: Any) -> str:
    """The page with all its figures."""
    viewer.get(PAGE)
    viewer.post(PART)
    text: str = viewer.get(PAGE).text
    return text


def test_without_a_choice_the_page_explains_what_to_choose(viewer: Any) -> None:
    text = viewer.get("/admin/agreement").text
    assert "Choose two campaigns" in text
    assert '<option value="demo-overlap">' in text


def test_the_page_asks_for_figures_that_are_not_stored_and_never_computes_by_itself(viewer: Any) -> None:
    for _visit in range(2):
        text = viewer.get(PAGE).text
        assert 'hx-post="/admin/computed/agreement?reference=demo-sample-a&amp;hypothesis=demo-sample-b"' in text
        assert 'hx-trigger="load"' in text
        assert 'class="cards"' not in text


def test_headline_figures_come_first_and_the_others_are_asked_for(viewer: Any) -> None:
    viewer.get(PAGE)
    first = viewer.post(PART, htmx=True).text
    assert "Computing γ …" in first
    assert 'hx-trigger="load"' in first
    assert "not computed yet" in first
    whole = viewer.post(PART, htmx=True).text
    assert "not computed yet" not in whole
    assert "These figures are those of the present data." in whole
    assert whole.strip() in viewer.get(PAGE).text


def test_without_scripts_a_button_computes_everything_while_the_reader_waits(viewer: Any) -> None:
    assert "<noscript><button" in viewer.get(PAGE).text
    response = viewer.post(PART)
    assert (response.status_code, response.headers["Location"]) == (303, PAGE)
    assert "not computed yet" not in viewer.get(PAGE).text


def test_the_cards_show_the_figures_of_the_command_line(shown: str, demo: Database) -> None:
    result = compute_agreement(demo, "demo-sample-a", "demo-sample-b", AgreementOptions(bootstrap=1000)).as_json()
    for value in (
        result["char"]["hard"]["f1"],
        result["char"]["soft"]["recall"],
        result["gamma"]["hard"]["mean"],
        result["gamma"]["soft"]["mean"],
        result["s_empty"]["mean"],
        result["pearson"]["micro"],
        *result["intervals"]["char.hard.f1"],
        *result["intervals"]["gamma.soft.mean"],
    ):
        assert f"{value:.3f}" in shown
    assert f"mean over {result['gamma']['hard']['outputs']} of 36 outputs" in shown
    assert result["signature"] in shown


def test_every_card_says_what_it_measures_and_what_it_ignores(shown: str) -> None:
    text = shown
    assert text.count('<div class="card">') == 6
    for word in ("Measures", "Ignores", "Variant"):
        assert text.count(f"<strong>{word}</strong>") == 6


def test_every_table_explains_its_figures(shown: str) -> None:
    for title in ("What these columns measure and ignore", "What these measures count and ignore"):
        about = shown.split(title)[1].split("</details>", maxsplit=1)[0]
        assert about.count("Ignores:") == about.count("<dt>") >= 5
        assert "agreement|ref:" in about


def test_the_confusion_matrix_is_a_table_with_a_shade_for_each_share(shown: str) -> None:
    table = shown.split('<table class="heat">')[1].split("</table>", maxsplit=1)[0]
    assert '<th scope="col">none</th>' in table
    assert "heat-9" in table or "heat-8" in table


def test_the_download_is_what_the_command_line_prints(viewer: Any, demo: Database) -> None:
    options = AgreementOptions(bootstrap=1000)
    assert viewer.get(DOWNLOAD).json == compute_agreement(demo, "demo-sample-a", "demo-sample-b", options).as_json()


def test_filters_and_rules_are_in_the_address_and_in_the_permanent_link(viewer: Any) -> None:
    choice = "&system=larkspur&empty=skip&rule=each&utm_source=mail"
    viewer.get(PAGE)
    viewer.post(PART + choice)
    text = viewer.get(PAGE + choice).text
    assert "&amp;rule=each&amp;empty=skip&amp;system=" in text
    assert "utm_source" not in text


def test_exchanging_the_sides_exchanges_their_rules(viewer: Any) -> None:
    text = viewer.get(f"{PAGE}&rule=each").text
    assert (
        'href="/admin/agreement?reference=demo-sample-b&amp;hypothesis=demo-sample-a&amp;hypothesis_rule=each"' in text
    )


def test_annotators_of_a_campaign_without_categories_have_undefined_figures_with_a_reason(
    viewer: Any, demo: Database, tmp_path: Path
) -> None:
    import_without_categories(demo, tmp_path)
    query = "reference=ratings&hypothesis=ratings&rule=pairs&hypothesis_rule=pairs"
    viewer.get(f"/admin/agreement?{query}")
    assert viewer.post(f"/admin/computed/agreement?{query}").status_code == 303
    text = viewer.get(f"/admin/agreement?{query}").text
    assert "36 outputs compared" in text
    assert "one side has the same number of spans everywhere" in text


def import_without_categories(database: Database, folder: Path) -> None:
    """Import a campaign ``ratings`` with answers of two annotators and without categories."""
    with database.reading() as session:
        work = list(export_records(session, "demo-sample-a"))
    records = [
        record.model_copy(update={"campaign": "ratings", "annotator": name, "group": group, "spans": []})
        for group, name in (("0", "ann"), ("1", "ben"))
        for record in work
    ]
    path = folder / "ratings.jsonl"
    path.write_text("".join(write_jsonl(records)), encoding="utf-8")
    question = {"key": "overall", "type": "likert", "label": "How good is it?", "points": 5}
    content = {"slug": "ratings", "title": "Ratings", "kind": "external", "questions": [question]}
    definition = CampaignDefinition.model_validate(content)
    import_campaign(database, path, slug="ratings", format="native", definition=definition)


def test_campaigns_without_a_common_output_are_told_what_to_do(viewer: Any) -> None:
    viewer.get(PAGE)
    text = viewer.post(PART.replace("demo-sample-b", "demo-people"), htmx=True).text
    assert "Nothing to compare" in text
    assert "has no completed annotation" in text
    assert viewer.post(PART.replace("demo-sample-b", "demo-people")).status_code == 422


@pytest.mark.parametrize("wrong", ["rule=best", "matching=magic", "samples=many", "empty=maybe"])
def test_an_address_that_asks_for_the_impossible_is_refused(viewer: Any, wrong: str) -> None:
    response = viewer.get(f"{PAGE}&{wrong}")
    assert response.status_code == 422
    assert wrong.split("=", maxsplit=1)[0] in response.text


def test_an_unknown_campaign_is_not_found(viewer: Any) -> None:
    assert viewer.get(PAGE.replace("demo-sample-b", "nothing")).status_code == 404


def test_campaigns_with_other_categories_or_unfinished_ones_are_named(viewer: Any, demo: Database) -> None:
    with demo.transaction() as session:
        campaigns = {campaign.slug: campaign for campaign in session.scalars(select(Campaign))}
        one = (
            select(Category.id).where(Category.campaign_id == campaigns["demo-sample-b"].id).limit(1).scalar_subquery()
        )
        session.execute(update(Category).where(Category.id == one).values(key="odd", name="Odd one"))
        sample = Campaign.id == campaigns["demo-sample-a"].id
        session.execute(update(Campaign).where(sample).values(kind="human", status="open"))
        works = select(Assignment.id).where(Assignment.campaign_id == campaigns["demo-sample-a"].id)
        first = select(Annotation.id).where(Annotation.assignment_id.in_(works)).limit(1).scalar_subquery()
        session.execute(update(Annotation).where(Annotation.id == first).values(status="draft"))
    viewer.get(PAGE)
    text = viewer.post(PART, htmx=True).text
    assert "demo-sample-a is not finished: 35 of its 36 outputs are annotated. These figures are provisional." in text
    assert "only demo-sample-b has: Odd one" in text
    assert "Choose the common ones under Category" in text


def test_in_short_says_how_the_figure_stands_to_people_among_themselves(in_english: None) -> None:
    del in_english

    def view(low: float, high: float) -> AgreementView:
        own = {"outputs": 4, "char": char_with((low + high) / 2), "intervals": {"char.hard.f1": [low, high]}}
        people = {name: RESULT[name] for name in ("gamma", "s_empty", "pearson")}
        people |= {"char": char_with(0.3), "intervals": {"char.hard.f1": [0.25, 0.35]}, "hypothesis": own}
        ceiling = {"rules": ["first", "each"], "outputs": 4, **people}
        return AgreementView(AgreementReport.from_json({**RESULT, "ceiling": ceiling}))

    assert "agrees with a more (0.450) than the people of a with each other (0.300)" in view(0.4, 0.5).against_people
    assert "agrees with a less (0.150) than the people of a with each other (0.300)" in view(0.1, 0.2).against_people
    assert "about as much as" in view(0.3, 0.5).against_people
    assert AgreementView(REPORT).against_people == ""


def test_in_short_names_the_most_frequent_disagreement() -> None:
    assert AgreementView(REPORT).widest_gap == ("x", "-", 1)


@pytest.fixture
def in_english(app: Flask) -> Iterator[None]:
    """A request, in whose language the page speaks."""
    with app.test_request_context():
        yield


def char_with(f1: float) -> dict[str, Any]:
    scores = {"precision": 0.5, "recall": 0.5, "f1": f1}
    return {"hard": {**scores, "macro": scores}, "soft": {**scores, "macro": scores}, "delta": 0.0}


UNDEFINED = dict.fromkeys(("precision", "recall", "f1"))
RESULT: dict[str, Any] = {
    "reference": {"campaign": "a", "rule": "first", "spans": 0},
    "hypothesis": {"campaign": "b", "rule": "pairs", "spans": 3},
    "outputs": 4,
    "outputs_reference_only": 0,
    "outputs_hypothesis_only": 0,
    "char": {
        "hard": {"precision": None, "recall": 1.0, "f1": 0.0, "macro": UNDEFINED},
        "soft": {"precision": 0.5, "recall": 1.0, "f1": 0.6, "macro": UNDEFINED},
        "delta": 0.6,
    },
    "gamma": {
        "hard": {"mean": None, "outputs": 0},
        "soft": {"mean": -0.25, "outputs": 6},
        "alpha": 1.0,
        "beta": 1.0,
        "delta_empty": 1.0,
        "samples": 30,
        "seed": 42,
        "stream": "RandomState per output",
    },
    "s_empty": {"mean": 0.5, "outputs": 2},
    "confusion": {"labels": ["x", "none"], "matrix": [[3, 1], [0, 0]]},
    "pearson": {"micro": None, "macro": None, "totals": None, "per_category": {"x": None}},
    "undefined": {"gamma.hard": "no output has spans of both sides", "pearson.per_category.x": "x does not vary"},
    "signature": "s",
}
REPORT = AgreementReport.from_json(RESULT)


def test_an_undefined_figure_has_the_reason_of_its_measure() -> None:
    figure = AgreementView(REPORT).figure("gamma.hard.mean", None)
    assert (figure.value, figure.reason) == (None, "no output has spans of both sides")


def test_a_mean_over_pairs_of_annotators_is_called_one_over_comparisons(in_english: None) -> None:
    del in_english
    notes = {card.measure: card.note for card in AgreementView(REPORT).cards}
    assert notes["gamma.hard"] == "mean over 0 of 4 outputs"
    assert notes["gamma.soft"] == "mean over 6 comparisons of 4 outputs"


def test_shades_follow_the_share_of_the_row() -> None:
    first, none = AgreementView(REPORT).confusion
    assert [(cell.count, cell.share, cell.level) for cell in first.cells] == [(3, 0.75, 7), (1, 0.25, 2)]
    assert [(cell.share, cell.level) for cell in none.cells] == [(None, 0), (None, 0)]


def test_the_table_by_category_leaves_out_what_the_result_does_not_have(in_english: None) -> None:
    del in_english
    table = AgreementView(REPORT).by_category
    assert table.columns == ["ρ (counts)"]
    assert table.rows[0].figures[0].reason == "x does not vary"


def test_the_annotators_of_one_campaign_are_offered_to_be_compared_with_each_other(viewer: Any, demo: Database) -> None:
    assert "Compare all pairs of them" not in viewer.get("/admin/agreement?hypothesis=demo-sample-a").text
    with demo.transaction() as session:
        campaign = find_campaign(session, "demo-people")
        batch = session.scalars(select(Batch.id).where(Batch.campaign_id == campaign.id)).first()
        session.add(Assignment(campaign_id=campaign.id, batch_id=batch, slot=1, status="open"))
    offered = viewer.get("/admin/agreement?hypothesis=demo-people").text
    address = (
        "/admin/agreement?reference=demo-people&amp;hypothesis=demo-people&amp;rule=pairs&amp;hypothesis_rule=pairs"
    )
    assert f'href="{address}"' in offered
    assert "Compare all pairs of them" not in viewer.get(address.replace("&amp;", "&")).text
