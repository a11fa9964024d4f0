"""Pages of the leaderboard (campaigns against a reference) and the matrix (campaigns against each other)."""

from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy
from pydantic import field_validator

from spanplat.services.agreement.cautions import Cautions, find_cautions
from spanplat.services.agreement.disagreement import excerpts
from spanplat.services.agreement.leaderboard import LEADERBOARD, LeaderboardOptions
from spanplat.services.agreement.leaderboard_report import Leaderboard, OutputChoice
from spanplat.services.agreement.matrix import MATRIX, Matrix, MatrixOptions
from spanplat.services.agreement.sides import Filters, Rule
from spanplat.services.background.computations import ResultQuestion
from spanplat.services.background.results import StoredResult
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.web.address import AddressQuery
from spanplat.web.agreement.choices import filters_of, rules_of
from spanplat.web.agreement.leaderboard_view import LeaderboardView, MatrixView
from spanplat.web.agreement.measures import RankingMeasure, ranking_titles
from spanplat.web.agreement.report_tables import STANDINGS, measure_table
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sorted_tables import TablePage

blueprint = Blueprint("leaderboard", __name__, url_prefix="/admin/leaderboard")

EXCERPT = 110
"""Length of the excerpt of a text, in characters."""


class LeaderboardQuery(AddressQuery):
    """Query of the leaderboard and the matrix."""

    reference: str = ""
    campaign: tuple[str, ...] = ()
    measure: RankingMeasure = "char.hard"
    rule: str = "first"
    outputs: OutputChoice = "shared"
    seed: int = 42
    samples: int = 30
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, value: str) -> str:
        return str(Rule.parse(value))

    @property
    def others(self) -> list[str]:
        """The campaigns to compare with the reference, each once."""
        return [slug for slug in dict.fromkeys(self.campaign) if slug != self.reference]

    @property
    def is_complete(self) -> bool:
        """Whether there is something to compare."""
        return bool(self.reference and self.others)

    def options(self) -> LeaderboardOptions:
        """Return the options of the computation."""
        filters = Filters(self.dataset, self.split, self.system)
        return LeaderboardOptions(self.rule, self.outputs, self.seed, self.samples, filters=filters)

    def ordered_by(self, measure: str) -> dict[str, Any]:
        """Return the arguments of the same page, ordered by another measure."""
        return self.model_copy(update={"measure": measure}).arguments()


def _board(query: LeaderboardQuery, result: StoredResult[Leaderboard]) -> dict[str, Any]:
    view = LeaderboardView(result.report, query.measure)
    examples = [one.output for side in view.contrast.examples for one in side] if view.contrast else []
    place = TablePage("leaderboard.show", query.arguments())
    measures = measure_table([entry.title for entry in view.result.entries], has_people=view.result.human is not None)
    return {
        "view": view,
        "standings": STANDINGS.view("standings", place, view.standings, beside=("measures",)),
        "by_measure": measures.view("measures", place, view.by_measure, beside=("standings",)),
        "excerpts": excerpts(reading(), examples, EXCERPT),
        "cautions": _cautions(query, result),
    }


def _matrix(query: LeaderboardQuery, result: StoredResult[Matrix]) -> dict[str, Any]:
    return {"view": MatrixView(result.report), "cautions": _cautions(query, result)}


def _cautions(query: LeaderboardQuery, result: StoredResult[Any]) -> Cautions:
    session = reading()
    campaigns = [find_campaign(session, slug) for slug in (query.reference, *query.others)]
    return find_cautions(session, campaigns, revisions=result.revisions)


BOARD = ComputedPart(
    name="leaderboard",
    title=_lazy("Comparing every campaign with the reference, by every measure …"),
    query=LeaderboardQuery,
    template="leaderboard/_board.html",
    question=lambda query: ResultQuestion(LEADERBOARD, (query.reference, *query.others), query.options()),
    context=_board,
    address=lambda query: url_for("leaderboard.show", **query.arguments()),
)

MATRIX_PART = ComputedPart(
    name="matrix",
    title=_lazy("Comparing every campaign with every other …"),
    query=LeaderboardQuery,
    template="leaderboard/_matrix.html",
    question=lambda query: ResultQuestion(
        MATRIX, (query.reference, *query.others), MatrixOptions(query.measure, query.options())
    ),
    context=_matrix,
    address=lambda query: url_for("leaderboard.matrix", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the stored leaderboard; the page requests missing figures."""
    return _page("leaderboard/show.html", "board", BOARD)


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the leaderboard as a file."""
    query, result = answer(BOARD)
    return table_file(LeaderboardView(result, query.measure).tables, name)


@blueprint.get("/chart")
@policy("viewer")
def chart() -> Response:
    """Return the bars of the leaderboard as an image."""
    query, result = answer(BOARD)
    return chart_image(LeaderboardView(result, query.measure).chart, "leaderboard")


@blueprint.get("/matrix")
@policy("viewer")
def matrix() -> str:
    """Show the campaigns against each other."""
    return _page("leaderboard/matrix.html", "matrix", MATRIX_PART)


@blueprint.get("/matrix/table/<name>")
@policy("viewer")
def matrix_table(name: str) -> Response:
    """Return the matrix as a file."""
    return table_file(MatrixView(answer(MATRIX_PART)[1]).tables, name)


def _page(template: str, page: str, part: ComputedPart[LeaderboardQuery, Any]) -> str:
    """Show a part below the form with campaigns, measures, rules for the reference and filters."""
    query = LeaderboardQuery.from_request()
    campaigns = list_campaigns(reading())
    by_slug = {campaign.slug: campaign for campaign in campaigns}
    chosen = [by_slug[slug] for slug in (query.reference, *query.others) if slug in by_slug]
    return render_template(
        template,
        page=page,
        campaigns=campaigns,
        measures=ranking_titles(),
        rules=rules_of(by_slug.get(query.reference), query.rule),
        output_choices={
            "shared": _("those that all completed"),
            "several": _("of these, those with several people"),
            "own": _("for each, those shared with the reference"),
        },
        filters=filters_of(chosen, query.dataset, query.split, query.system),
        **(part_context(part, query) if query.is_complete else {"query": query}),
    )
