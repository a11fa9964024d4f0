"""Leaderboard of campaigns against one reference, on the same outputs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spanplat.db import Database
from spanplat.errors import InvalidInput, NotFound
from spanplat.metrics import RANKING_MEASURES
from spanplat.services.agreement.comparison import compute_agreement
from spanplat.services.agreement.leaderboard import LeaderboardOptions, compute_leaderboard
from spanplat.services.campaigns.importing import import_campaign

Import = Callable[..., str]

FIRST = [(0, 6, "Wrong")]
LATER = [(20, 29, "Unclear")]
QUICK = LeaderboardOptions(resamples=200)


@pytest.fixture
def study(imported: Import) -> None:
    """A reference in which two people marked the first two outputs, a twin of it, a half-right and an unrelated campaign."""
    reference = {output: [*FIRST, *LATER] if output % 2 else FIRST for output in range(6)}
    imported("reference", ann=reference, ben={0: FIRST, 1: LATER})
    imported("twin", one=reference)
    imported("half", one={output: FIRST if output < 3 else [] for output in range(5)})
    imported("unrelated", one={output: [(10, 12, "Wrong")] for output in range(5)})


@pytest.mark.usefixtures("study")
def test_campaigns_are_compared_on_the_outputs_all_share_and_the_number_is_told(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["twin", "half", "unrelated"], QUICK).as_json()
    assert board["outputs"] == 5
    assert [(entry["outputs"], entry["left_out"]) for entry in board["entries"]] == [(5, 1), (5, 0), (5, 0)]


@pytest.mark.usefixtures("study")
def test_each_pair_may_use_its_own_outputs(database: Database) -> None:
    board = compute_leaderboard(
        database, "reference", ["twin", "half"], LeaderboardOptions(outputs="own", resamples=50)
    ).as_json()
    assert [entry["outputs"] for entry in board["entries"]] == [6, 5]
    assert board["outputs"] is None


@pytest.mark.usefixtures("study")
def test_every_measure_ranks_the_twin_first_and_the_unrelated_last(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["unrelated", "half", "twin"], QUICK).as_json()
    for measure in set(RANKING_MEASURES) - {"s_empty", "pearson"}:
        ranks = {entry["campaign"]: entry["figures"][measure].get("rank") for entry in board["entries"]}
        assert ranks["twin"] == 1, measure
        assert ranks["unrelated"] == 3, measure
        assert board["entries"][2]["figures"][measure]["value"] == pytest.approx(1), measure


@pytest.mark.usefixtures("study")
def test_few_outputs_do_not_tell_campaigns_apart(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["half", "unrelated"], QUICK).as_json()
    assert [entry["figures"]["char.hard"]["cluster"] for entry in board["entries"]] == [1, 1]


@pytest.mark.usefixtures("study")
def test_an_undefined_figure_has_a_reason_and_no_rank(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["twin", "half"], QUICK).as_json()
    figure = board["entries"][0]["figures"]["s_empty"]
    assert figure["value"] is None
    assert figure["reason"] == "both sides marked something on every output"
    assert "rank" not in figure


@pytest.mark.usefixtures("study")
def test_people_are_compared_with_each_other_where_several_annotated(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["twin"], QUICK).as_json()
    assert board["human"]["outputs"] == 2
    assert board["human"]["figures"]["char.hard"]["value"] == pytest.approx(15 * 2 / (21 + 15))
    several = compute_leaderboard(
        database, "reference", ["twin"], LeaderboardOptions(outputs="several", resamples=50)
    ).as_json()
    assert several["outputs"] == several["human"]["outputs"] == 2


@pytest.mark.usefixtures("study")
def test_without_several_annotators_there_is_no_human_line(database: Database) -> None:
    assert compute_leaderboard(database, "twin", ["half"], QUICK).as_json()["human"] is None


@pytest.mark.usefixtures("study")
def test_several_annotators_of_the_reference_may_all_count(database: Database) -> None:
    board = compute_leaderboard(
        database, "reference", ["twin"], LeaderboardOptions(rule="each", resamples=50)
    ).as_json()
    assert board["outputs"] == 6
    assert board["entries"][0]["figures"]["char.soft"]["value"] < 1


@pytest.mark.usefixtures("study")
def test_what_cannot_be_compared_is_said(database: Database, imported: Import) -> None:
    imported("elsewhere", one={5: FIRST})
    imported("other-words", ["Bad"], one={0: [(0, 6, "Bad")]})
    with pytest.raises(InvalidInput, match="'elsewhere' shares no completed output with 'half'"):
        compute_leaderboard(database, "half", ["elsewhere"], QUICK)
    with pytest.raises(InvalidInput, match="choose at least one campaign besides the reference"):
        compute_leaderboard(database, "half", ["half"], QUICK)
    with pytest.raises(InvalidInput, match="use the rule first, each or group=K"):
        compute_leaderboard(database, "half", ["twin"], LeaderboardOptions(rule="pairs"))
    with pytest.raises(InvalidInput, match="no output that all these campaigns completed"):
        compute_leaderboard(database, "reference", ["elsewhere", "half"], QUICK)
    with pytest.raises(NotFound):
        compute_leaderboard(database, "half", ["nowhere"], QUICK)


@pytest.mark.data
def test_the_published_campaigns_have_the_figures_of_the_agreement_page(
    sqlite_database: Database, research_data: Path
) -> None:
    folder = research_data / "d2t-eval"
    for part, slug in (("human/test", "human"), ("model/test/o3-mini", "o3-mini"), ("model/test/llama3-3", "llama")):
        import_campaign(
            sqlite_database,
            folder / "annotations" / part,
            slug=slug,
            format="factgenie",
            outputs=folder / "outputs",
            inputs=folder / "inputs",
            renames={"phi3-5": "phi3.5", "llama3-3": "llama3.3"},
        )
    board = compute_leaderboard(
        sqlite_database, "human", ["o3-mini", "llama"], LeaderboardOptions(resamples=100)
    ).as_json()
    report = compute_agreement(sqlite_database, "human", "o3-mini").as_json()
    mine = board["entries"][0]["figures"]
    assert board["outputs"] == 1200
    assert mine["char.hard"]["value"] == pytest.approx(report["char"]["hard"]["f1"])
    assert mine["partial_credit.soft"]["value"] == pytest.approx(report["partial_credit"]["soft"]["micro"]["f1"])
    assert mine["gamma.hard"]["value"] == pytest.approx(report["gamma"]["hard"]["mean"])
    assert mine["gamma.hard"]["outputs"] == 646
    assert mine["pearson"]["value"] == pytest.approx(report["pearson"]["micro"])
    assert board["human"]["outputs"] == 475
    assert board["human"]["figures"]["gamma.hard"]["value"] == pytest.approx(0.2532, abs=5e-5)
    assert [entry["figures"]["char.hard"]["cluster"] for entry in board["entries"]] == [1, 2]


@pytest.mark.usefixtures("study")
def test_the_first_two_are_told_apart_by_categories_and_texts(database: Database) -> None:
    board = compute_leaderboard(database, "reference", ["half", "twin"], QUICK).as_json()
    (contrast,) = [one for one in board["contrasts"] if sorted(one["entries"]) == [0, 1]][:1]
    better = dict(zip(contrast["entries"], contrast["better"], strict=True))
    assert better[0] == 0
    assert better[1] == 3
    closer = contrast["first" if contrast["entries"][0] == 1 else "second"]
    assert len(closer) == 3
    assert all(max(one["scores"]) == 1 for one in closer)
    assert board["entries"][1]["by_category"] == {"Wrong": 1.0, "Unclear": 1.0}
    assert board["entries"][0]["by_category"]["Unclear"] == 0
