"""The agreement page: any two campaigns, the figures with their meaning, and a link that gives the same figures again."""

from collections.abc import Sequence
from typing import Any, Literal

from flask import Blueprint, Response, jsonify, render_template, url_for
from flask_babel import lazy_gettext as _lazy
from pydantic import field_validator

from spanplat.models import Campaign
from spanplat.services.agreement import AGREEMENT, AgreementOptions
from spanplat.services.campaigns import find_campaign, list_campaigns
from spanplat.services.cautions import find_cautions
from spanplat.services.computations import Question
from spanplat.services.progress import annotator_orders
from spanplat.services.results import Result, ResultKind
from spanplat.services.sides import Filters, Rule
from spanplat.web.address import AddressQuery
from spanplat.web.agreement_view import AgreementView
from spanplat.web.choices import filters_of, rules_of
from spanplat.web.computed import Part, answer, part_context
from spanplat.web.policy import policy
from spanplat.web.session import reading

blueprint = Blueprint("agreement", __name__, url_prefix="/admin/agreement")


class AgreementQuery(AddressQuery):
    """What the address of the agreement page says; it is enough to compute the same figures again."""

    reference: str = ""
    hypothesis: str = ""
    rule: str = "first"
    """How several annotators of an output of the reference are reduced."""
    hypothesis_rule: str = "first"
    matching: Literal["optimal", "greedy"] = "optimal"
    empty: Literal["include", "skip"] = "include"
    seed: int = 42
    samples: int = 30
    bootstrap: int = 1000
    """Resamples for intervals; none when 0."""
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """Keys of categories."""
    shared_with: str = ""
    """Slug of a campaign: only outputs that it completed too."""

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
            "shared_with": self.shared_with or self.hypothesis,
        }
        return self.model_copy(update=changed).arguments()

    def question(self, kind: ResultKind[AgreementOptions]) -> Question:
        """Return what is asked about the two sides."""
        return Question(kind, (self.reference, self.hypothesis), self.options())

    def options(self) -> AgreementOptions:
        """Return how to compute the figures."""
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


def _context(query: AgreementQuery, result: Result) -> dict[str, Any]:
    session = reading()
    campaigns = [find_campaign(session, slug) for slug in (query.reference, query.hypothesis)]
    pending = set(AGREEMENT.stages) - set(result.finished)
    one_side = {Rule.parse(rule).name for rule in (query.rule, query.hypothesis_rule)} <= {"first", "each", "group"}
    several = one_side and query.reference != query.hypothesis and len(annotator_orders(session, campaigns[0])) > 1
    view = AgreementView(result.value, pending, has_company=several)
    cautions = find_cautions(session, campaigns, query.options().filters, result.revisions)
    return {"view": view, "cautions": cautions}


PART = Part(
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
    """Show the page with the figures that are stored; it asks for the others."""
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
    """Return the campaign whose annotators can be compared with each other where no two sides are chosen."""
    if query.is_complete and (query.reference != query.hypothesis or query.rule != query.hypothesis_rule):
        return None
    if "pairs" in (query.rule, query.hypothesis_rule):
        return None
    wanted = query.hypothesis or query.reference
    named = [campaign for campaign in campaigns if campaign.slug == wanted] if wanted else campaigns
    one = named[0] if len(named) == 1 else None
    return one if one is not None and len(annotator_orders(reading(), one)) > 1 else None


@blueprint.get("/figures.json")
@policy("viewer")
def download() -> Response:
    """Return all figures, in the form of ``spanplat agreement --json``."""
    return jsonify(answer(PART)[1])
