"""Leaderboard and matrix: any number of campaigns against a reference and against each other."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, render_template, request
from flask_babel import gettext as _
from pydantic import field_validator

from spanplat.errors import InvalidInput
from spanplat.models import Campaign
from spanplat.services.campaigns import list_campaigns
from spanplat.services.leaderboard import LeaderboardOptions, OutputChoice, compute_leaderboard, stored_leaderboard
from spanplat.services.matrix import compute_matrix, stored_matrix
from spanplat.services.progress import annotator_orders, coverage
from spanplat.services.sides import Filters, Rule
from spanplat.web.address import AddressQuery
from spanplat.web.downloads import chart_image, table_file
from spanplat.web.leaderboard_view import LeaderboardView, MatrixView
from spanplat.web.measures import MEASURE_TITLES
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("leaderboard", __name__, url_prefix="/admin/leaderboard")

MOST_GROUPS_OFFERED = 10


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


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the leaderboard; what is not stored yet is fetched by the page, or computed at once when the address says ``wait``."""
    query = LeaderboardQuery.from_request()
    view = None
    if query.is_complete:
        stored = stored_leaderboard(reading(), query.reference, query.others, query.options())
        view = LeaderboardView(stored, query.measure) if stored else None
        if view is None and "wait" in request.args:
            view = _board(query)
    return render_template("leaderboard/show.html", query=query, view=view, page="board", **_choices(query))


@blueprint.get("/figures")
@policy("viewer")
def figures() -> str:
    """Return the leaderboard as a fragment, computing it unless it is stored."""
    query = LeaderboardQuery.from_request()
    try:
        return render_template("leaderboard/_board.html", query=query, view=_board(query))
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))


@blueprint.get("/table/<name>")
@policy("viewer")
def table(name: str) -> Response:
    """Return a table of the leaderboard as a file."""
    return table_file(_board(LeaderboardQuery.from_request()).tables, name)


@blueprint.get("/chart")
@policy("viewer")
def chart() -> Response:
    """Return the bars of the leaderboard as an image."""
    return chart_image(_board(LeaderboardQuery.from_request()).chart, "leaderboard")


@blueprint.get("/matrix")
@policy("viewer")
def matrix() -> str:
    """Show the campaigns against each other."""
    query = LeaderboardQuery.from_request()
    view = None
    if query.is_complete:
        campaigns = [query.reference, *query.others]
        stored = stored_matrix(reading(), campaigns, query.measure, query.options())
        view = MatrixView(stored) if stored else None
        if view is None and "wait" in request.args:
            view = _matrix(query)
    return render_template("leaderboard/matrix.html", query=query, view=view, page="matrix", **_choices(query))


@blueprint.get("/matrix/figures")
@policy("viewer")
def matrix_figures() -> str:
    """Return the matrix as a fragment, computing it unless it is stored."""
    query = LeaderboardQuery.from_request()
    try:
        return render_template("leaderboard/_matrix.html", query=query, view=_matrix(query))
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))


@blueprint.get("/matrix/table/<name>")
@policy("viewer")
def matrix_table(name: str) -> Response:
    """Return the matrix as a file."""
    return table_file(_matrix(LeaderboardQuery.from_request()).tables, name)


def _board(query: LeaderboardQuery) -> LeaderboardView:
    return LeaderboardView(
        compute_leaderboard(database(), query.reference, query.others, query.options()), query.measure
    )


def _matrix(query: LeaderboardQuery) -> MatrixView:
    campaigns = [query.reference, *query.others]
    return MatrixView(compute_matrix(database(), campaigns, query.measure, query.options()))


def _choices(query: LeaderboardQuery) -> dict[str, Any]:
    """Return what the form offers: campaigns, measures, rules of the reference, and the filters that fit."""
    session = reading()
    campaigns = list_campaigns(session)
    by_slug = {campaign.slug: campaign for campaign in campaigns}
    chosen = [by_slug[slug] for slug in (query.reference, *query.others) if slug in by_slug]
    filters: list[tuple[str, str, dict[str, str], tuple[str, ...]]] = []
    if chosen:
        covered = coverage(session, chosen)
        filters = [
            ("dataset", _("Dataset"), _same(covered.datasets), query.dataset),
            ("split", _("Split"), _same(covered.splits), query.split),
            ("system", _("System"), _same(covered.systems), query.system),
        ]
    return {
        "campaigns": campaigns,
        "measures": MEASURE_TITLES,
        "rules": _rules(by_slug.get(query.reference), query.rule),
        "output_choices": {
            "shared": _("those that all completed"),
            "several": _("of these, those with several people"),
            "own": _("for each, those shared with the reference"),
        },
        "filters": filters,
    }


def _rules(reference: Campaign | None, chosen: str) -> Mapping[str, str]:
    rules = {"first": _("the first of each output"), "each": _("each, counts pooled")}
    orders = annotator_orders(reading(), reference) if reference is not None else []
    if len(orders) > 1:
        groups = orders[:MOST_GROUPS_OFFERED]
        rules |= {f"group={order}": _("annotator %(number)s of each output", number=order) for order in groups}
    rules.setdefault(chosen, chosen)
    return rules


def _same(names: list[str]) -> dict[str, str]:
    return {name: name for name in names}
