"""Report on the errors of the evaluated systems."""

from collections.abc import Callable

import pytest

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.services.agreement.sides import Filters
from spanplat.services.agreement.systems import SystemsOptions, compute_systems

WRONG, UNCLEAR = (0, 6, "Wrong", "major"), (20, 29, "Unclear", "minor")
QUICK = SystemsOptions(resamples=100)


@pytest.fixture
def study(imported: Callable[..., str]) -> None:
    """People find errors in what birch wrote, a model agrees, and another finds them in what alder wrote."""
    imported("people", ann={0: [], 1: [WRONG, UNCLEAR], 2: [UNCLEAR], 3: [WRONG], 4: [], 5: [WRONG]}, ben={0: [WRONG]})
    imported("model", one={output: [WRONG] if output % 2 else [] for output in range(6)})
    imported("contrary", one={output: [] if output % 2 else [WRONG] for output in range(4)})


@pytest.mark.usefixtures("study")
def test_errors_are_counted_per_system_category_and_severity(database: Database) -> None:
    report = compute_systems(database, ["people"], QUICK).as_json()
    alder, birch = report["campaigns"][0]["systems"]
    assert (alder["system"], alder["outputs"], alder["spans"]) == ("alder", 3, 1)
    assert alder["per_output"]["value"] == pytest.approx(1 / 3)
    assert alder["error_free"]["value"] == pytest.approx(2 / 3)
    assert birch["by_category"] == pytest.approx({"Wrong": 1, "Unclear": 1 / 3})
    assert birch["by_severity"] == pytest.approx({"Minor": 1 / 3, "Major": 1})
    assert birch["per_output"]["low"] <= birch["per_output"]["value"] <= birch["per_output"]["high"]


@pytest.mark.usefixtures("study")
def test_campaigns_may_rank_the_systems_alike_or_the_other_way_round(database: Database) -> None:
    report = compute_systems(database, ["people", "model", "contrary"], QUICK).as_json()
    alike, contrary = report["agreement"]
    assert (alike["campaign"], alike["outputs"], alike["systems"]) == ("model", 6, 2)
    assert alike["figures"]["kendall"] == pytest.approx(1)
    assert contrary["outputs"] == 4
    assert contrary["figures"]["spearman"] == pytest.approx(-1)


def test_a_severity_weighs_the_same_wherever_it_stands_on_the_scale_of_a_campaign(
    database: Database, imported: Callable[..., str]
) -> None:
    # Alder has two minor errors, birch one major error: without weights alder has more errors.
    work = {0: [(0, 6, "Wrong", "minor"), UNCLEAR], 1: [WRONG]}
    imported("people", severities={"Minor": 1, "Major": 5}, one=work)
    imported("other-order", severities={"Major": 5, "Minor": 1}, one=work)
    imported("more-levels", severities={"Neutral": 0, "Minor": 1, "Major": 5}, one=work)
    report = compute_systems(database, ["people", "other-order", "more-levels"], QUICK).as_json()
    assert [one["figures"]["kendall"] for one in report["agreement"]] == pytest.approx([1, 1])


@pytest.mark.usefixtures("study")
def test_one_system_cannot_be_ranked_and_the_reason_is_given(database: Database) -> None:
    one = SystemsOptions(resamples=50, filters=Filters(systems=("birch",)))
    report = compute_systems(database, ["people", "model"], one).as_json()
    assert report["agreement"][0]["figures"]["kendall"] is None
    assert report["agreement"][0]["undefined"]["kendall"]


@pytest.mark.usefixtures("study")
def test_what_cannot_be_reported_is_said(database: Database) -> None:
    with pytest.raises(InvalidInput, match="at least one campaign"):
        compute_systems(database, [], QUICK)
    with pytest.raises(InvalidInput, match="'contrary' has no completed annotation"):
        compute_systems(database, ["contrary"], SystemsOptions(filters=Filters(splits=("dev",))))
    with pytest.raises(NotFound):
        compute_systems(database, ["nowhere"], QUICK)
