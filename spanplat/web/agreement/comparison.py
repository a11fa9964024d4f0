"""Agreement page of two campaigns. Its address contains everything that the figures depend on."""

from collections.abc import Sequence
from typing import Any, Literal

from flask import Blueprint, Response, jsonify, render_template, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext as _lazy
from pydantic import field_validator

from spanplat.models import Campaign
from spanplat.services.agreement.cautions import find_cautions
from spanplat.services.agreement.comparison import AGREEMENT, AgreementOptions
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.agreement.sides import Filters, Rule
from spanplat.services.background.computations import ResultQuestion
from spanplat.services.background.results import ReportType, ResultKind, StoredResult
from spanplat.services.campaigns.lifecycle import find_campaign, list_campaigns
from spanplat.services.campaigns.progress import annotator_orders
from spanplat.web.address import AddressQuery
from spanplat.web.agreement.agreement_view import AgreementView
from spanplat.web.agreement.choices import filters_of, rules_of
from spanplat.web.agreement.report_tables import figure_table
from spanplat.web.background.computed import ComputedPart, answer, part_context
from spanplat.web.policy import policy
from spanplat.web.session import reading
from spanplat.web.sorted_tables import TablePage

blueprint = Blueprint("agreement", __name__, url_prefix="/admin/agreement")


class AgreementQuery(AddressQuery):
    """Query of the agreement page. The same query always gives the same figures for the same data."""

    reference: str = ""
    hypothesis: str = ""
    rule: str = "first"
    """Rule that reduces several annotators of an output of the reference to one."""
    hypothesis_rule: str = "first"
    matching: Literal["optimal", "greedy"] = "optimal"
    empty: Literal["include", "skip"] = "include"
    seed: int = 42
    samples: int = 30
    bootstrap: int = 1000
    """Number of bootstrap resamples for intervals; 0 for no intervals."""
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """Keys of categories."""
    shared_with: str = ""
    """Slug of a third campaign; only outputs that it also completed are compared."""

    @field_validator("rule", "hypothesis_rule")
    @classmethod
    def _known(cls, value: str) -> str:
        return str(Rule.parse(value))

    @property
    def is_complete(self) -> bool:
        """Whether both campaigns are chosen."""
        return bool(self.reference and self.hypothesis)

    def swapped(self) -> "AgreementQuery":
        """Exchange the two sides."""
        return self.model_copy(
            update={
                "reference": self.hypothesis,
                "hypothesis": self.reference,
                "rule": self.hypothesis_rule,
                "hypothesis_rule": self.rule,
            }
        )

    def among_people(self, rules: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of the page that compares the reference's annotators with each other."""
        changed = {
            "hypothesis": self.reference,
            "rule": rules[0],
            "hypothesis_rule": rules[1],
            # On the same outputs as the present figures, so that the two can be compared.
            "shared_with": self.shared_with or self.hypothesis,
        }
        return self.model_copy(update=changed).arguments()

    def question(self, kind: ResultKind[AgreementOptions, ReportType]) -> ResultQuestion[ReportType]:
        """Return the question about the two sides for the result store."""
        return ResultQuestion(kind, (self.reference, self.hypothesis), self.options())

    def options(self) -> AgreementOptions:
        """Return the options of the computation."""
        return AgreementOptions(
            reference_rule=self.rule,
            hypothesis_rule=self.hypothesis_rule,
            matching=self.matching,
            empty=self.empty,
            seed=self.seed,
            samples=self.samples,
            bootstrap=self.bootstrap,
            filters=Filters(self.dataset, self.split, self.system, self.category, self.shared_with),
        )


def _context(query: AgreementQuery, result: StoredResult[AgreementReport]) -> dict[str, Any]:
    session = reading()
    campaigns = [find_campaign(session, slug) for slug in (query.reference, query.hypothesis)]
    pending = set(AGREEMENT.stages) - set(result.finished)
    # With `pairs` and `all` nothing is computed about people among themselves, so the page must not wait for it.
    one_side = {Rule.parse(rule).name for rule in (query.rule, query.hypothesis_rule)} <= {"first", "each", "group"}
    several = one_side and query.reference != query.hypothesis and len(annotator_orders(session, campaigns[0])) > 1
    view = AgreementView(result.report, pending, has_company=several)
    cautions = find_cautions(session, campaigns, query.options().filters, result.revisions)
    place, by_category = TablePage("agreement.show", query.arguments()), view.by_category
    categories = figure_table(_("Category"), by_category.columns)
    families = figure_table(_("Measure (micro)"), ("P", "R", "F1") * 2)
    return {
        "view": view,
        "by_category": categories.view("agreement-by-category", place, by_category.rows, beside=("measures",)),
        "families": families.view("measures", place, view.families, beside=("agreement-by-category",)),
        "cautions": cautions,
    }


PART = ComputedPart(
    name="agreement",
    title=_lazy("Comparing the two sides …"),
    query=AgreementQuery,
    template="agreement/_result.html",
    question=lambda query: query.question(AGREEMENT),
    context=_context,
    address=lambda query: url_for("agreement.show", **query.arguments()),
)


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the page with the stored figures; it requests the missing ones."""
    query = AgreementQuery.from_request()
    campaigns = list_campaigns(reading())
    by_slug = {campaign.slug: campaign for campaign in campaigns}
    chosen = [by_slug[slug] for slug in dict.fromkeys((query.reference, query.hypothesis)) if slug in by_slug]
    return render_template(
        "agreement/show.html",
        campaigns=campaigns,
        alone=_alone(query, campaigns),
        rules=rules_of(by_slug.get(query.reference), query.rule, pairs=True),
        hypothesis_rules=rules_of(by_slug.get(query.hypothesis), query.hypothesis_rule, pairs=True),
        filters=filters_of(chosen, query.dataset, query.split, query.system, query.category),
        **(part_context(PART, query) if query.is_complete else {"query": query}),
    )


def _alone(query: AgreementQuery, campaigns: Sequence[Campaign]) -> Campaign | None:
    """Return the campaign whose annotators can be compared with each other, if only one campaign is chosen."""
    if query.is_complete and (query.reference != query.hypothesis or query.rule != query.hypothesis_rule):
        return None
    if "pairs" in (query.rule, query.hypothesis_rule):  # the page already compares all pairs of annotators
        return None
    wanted = query.hypothesis or query.reference
    named = [campaign for campaign in campaigns if campaign.slug == wanted] if wanted else campaigns
    one = named[0] if len(named) == 1 else None
    return one if one is not None and len(annotator_orders(reading(), one)) > 1 else None


@blueprint.get("/figures.json")
@policy("viewer")
def download() -> Response:
    """Return all figures, in the form of ``spanplat agreement --json``."""
    return jsonify(answer(PART)[1].as_json())
