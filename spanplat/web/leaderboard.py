"""Leaderboard and matrix: any number of campaigns against a reference and against each other."""

from typing import Any

from flask import Blueprint, Response, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy
from pydantic import field_validator

from spanplat.services.campaigns import find_campaign, list_campaigns
from spanplat.services.cautions import Cautions, find_cautions
from spanplat.services.computations import Question
from spanplat.services.disagreement import excerpts
from spanplat.services.leaderboard import LEADERBOARD, LeaderboardOptions, OutputChoice
from spanplat.services.matrix import MATRIX, MatrixOptions
from spanplat.services.results import Result
from spanplat.services.sides import Filters, Rule
from spanplat.web.address import AddressQuery
from spanplat.web.choices import filters_of, rules_of
from spanplat.web.computed import Part, answer, part_context
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.leaderboard_view import LeaderboardView, MatrixView
from spanplat.web.measures import MEASURE_TITLES
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("leaderboard", __name__, url_prefix="/admin/leaderboard")

EXCERPT = 110
"""Characters of a text that stand for it."""


class LeaderboardQuery(AddressQuery):
    """What the address of the leaderboard and the matrix says."""

    reference: str = ""
    campaign: tuple[str, ...] = ()
    measure: str = "char.hard"
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

    @field_validator("measure")
    @classmethod
    def _known_measure(cls, value: str) -> str:
        if value not in MEASURE_TITLES:
            raise ValueError(f"there is no measure {value!r}; choose one of {', '.join(MEASURE_TITLES)}")
        return value

    @property
    def others(self) -> list[str]:
        """The campaigns to compare with the reference, each once."""
        return [slug for slug in dict.fromkeys(self.campaign) if slug != self.reference]

    @property
    def is_complete(self) -> bool:
        """Whether there is something to compare."""
        return bool(self.reference and self.others)

    def options(self) -> LeaderboardOptions:
        """Return how to compute the figures."""
        filters = Filters(self.dataset, self.split, self.system)
        return LeaderboardOptions(self.rule, self.outputs, self.seed, self.samples, filters=filters)

    def ordered_by(self, measure: str) -> dict[str, Any]:
        """Return the arguments of the same page by another measure."""
        return self.model_copy(update={"measure": measure}).arguments()


def _board(query: LeaderboardQuery, result: Result) -> dict[str, Any]:
    view = LeaderboardView(result.value, query.measure)
    examples = [one["output"] for side in view.contrast.examples for one in side] if view.contrast else []
    return {"view": view, "excerpts": excerpts(reading(), examples, EXCERPT), "cautions": _cautions(query, result)}


def _matrix(query: LeaderboardQuery, result: Result) -> dict[str, Any]:
    return {"view": MatrixView(result.value), "cautions": _cautions(query, result)}


def _cautions(query: LeaderboardQuery, result: Result) -> Cautions:
    session = reading()
    campaigns = [find_campaign(session, slug) for slug in (query.reference, *query.others)]
    return find_cautions(session, campaigns, revisions=result.revisions)


BOARD = Part(
    name="leaderboard",
    title=_lazy("Comparing every campaign with the reference, by every measure …"),
    query=LeaderboardQuery,
    template="leaderboard/_board.html",
    question=lambda query: Question(LEADERBOARD, (query.reference, *query.others), query.options()),
    context=_board,
    address=lambda query: url_for("leaderboard.show", **query.arguments()),
)

MATRIX_PART = Part(
    name="matrix",
    title=_lazy("Comparing every campaign with every other …"),
    query=LeaderboardQuery,
    template="leaderboard/_matrix.html",
    question=lambda query: Question(
        MATRIX, (query.reference, *query.others), MatrixOptions(query.measure, query.options())
    ),
    context=_matrix,
    address=lambda query: url_for("leaderboard.matrix", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the leaderboard as far as it is stored; the page asks for it otherwise."""
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


def _page(template: str, page: str, part: Part[LeaderboardQuery]) -> str:
    """Show a part under the form: campaigns, measures, rules of the reference, and the filters that fit."""
    query = LeaderboardQuery.from_request()
    campaigns = list_campaigns(reading())
    by_slug = {campaign.slug: campaign for campaign in campaigns}
    chosen = [by_slug[slug] for slug in (query.reference, *query.others) if slug in by_slug]
    return render_template(
        template,
        page=page,
        campaigns=campaigns,
        measures=MEASURE_TITLES,
        rules=rules_of(by_slug.get(query.reference), query.rule),
        output_choices={
            "shared": _("those that all completed"),
            "several": _("of these, those with several people"),
            "own": _("for each, those shared with the reference"),
        },
        filters=filters_of(chosen, query.dataset, query.split, query.system),
        **(part_context(part, query) if query.is_complete else {"query": query}),
    )
