"""The agreement page: any two campaigns, the figures with their meaning, and a link that gives the same figures again."""

from typing import Any, Literal

from flask import Blueprint, Response, jsonify, render_template, request
from flask_babel import gettext as _
from pydantic import ValidationError, field_validator

from spanplat.errors import InvalidInput
from spanplat.models import Campaign
from spanplat.schemas.base import Strict
from spanplat.services.agreement import AgreementOptions, compute_agreement, stored_agreement
from spanplat.services.campaigns import list_campaigns
from spanplat.services.progress import Coverage, annotator_orders, coverage
from spanplat.services.sides import Filters, Rule, categories_of
from spanplat.web.agreement_view import AgreementView
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("agreement", __name__, url_prefix="/admin/agreement")

MOST_GROUPS_OFFERED = 10


class AgreementQuery(Strict):
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
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """Keys of categories."""

    @field_validator("rule", "hypothesis_rule")
    @classmethod
    def _known(cls, value: str) -> str:
        return str(Rule.parse(value))

    @classmethod
    def from_request(cls) -> "AgreementQuery":
        """Read the address; parameters that are not ours are ignored."""
        lists = {"dataset", "split", "system", "category"}
        given: dict[str, Any] = {
            name: tuple(values) if name in lists else values[-1]
            for name, values in request.args.lists()
            if name in cls.model_fields and any(values)
        }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(str(part) for part in p['loc'])}: {p['msg']}" for p in error.errors())
            raise InvalidInput(f"the address asks for something that does not exist ({problems})") from error

    @property
    def is_complete(self) -> bool:
        """Whether both campaigns are chosen."""
        return bool(self.reference and self.hypothesis)

    def arguments(self) -> dict[str, Any]:
        """Return what differs from the defaults, for a link."""
        return self.model_dump(exclude_defaults=True)

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

    def options(self) -> AgreementOptions:
        """Return how to compute the figures."""
        return AgreementOptions(
            reference_rule=self.rule,
            hypothesis_rule=self.hypothesis_rule,
            matching=self.matching,
            empty=self.empty,
            seed=self.seed,
            samples=self.samples,
            filters=Filters(self.dataset, self.split, self.system, self.category),
        )


@blueprint.get("")
@policy("viewer")
def show() -> str:
    """Show the page; figures that are not stored yet are fetched by it, or computed at once when the address says ``wait``."""
    query = AgreementQuery.from_request()
    campaigns = list_campaigns(reading())
    result = (
        stored_agreement(reading(), query.reference, query.hypothesis, query.options()) if query.is_complete else None
    )
    if query.is_complete and result is None and "wait" in request.args:
        result = _compute(query)
    return render_template(
        "agreement/show.html",
        query=query,
        campaigns=campaigns,
        view=AgreementView(result) if result else None,
        **_choices(query, campaigns),
    )


@blueprint.get("/figures")
@policy("viewer")
def figures() -> str:
    """Return the figures as a fragment, computing them unless they are stored."""
    query = AgreementQuery.from_request()
    try:
        return render_template("agreement/_result.html", query=query, view=AgreementView(_compute(query)))
    except InvalidInput as error:
        return render_template("agreement/_nothing.html", reason=str(error))


@blueprint.get("/figures.json")
@policy("viewer")
def download() -> Response:
    """Return all figures, in the form of ``spanplat agreement --json``."""
    return jsonify(_compute(AgreementQuery.from_request()))


def _compute(query: AgreementQuery) -> dict[str, Any]:
    return compute_agreement(database(), query.reference, query.hypothesis, query.options())


def _choices(query: AgreementQuery, campaigns: list[Campaign]) -> dict[str, Any]:
    """Return what the form offers: the rules of each side, and the filters that fit the campaigns."""
    session = reading()
    by_slug = {campaign.slug: campaign for campaign in campaigns}
    chosen = [by_slug[slug] for slug in dict.fromkeys((query.reference, query.hypothesis)) if slug in by_slug]
    covered = coverage(session, chosen) if chosen else Coverage()
    return {
        "rules": _rules(by_slug.get(query.reference), query.rule),
        "hypothesis_rules": _rules(by_slug.get(query.hypothesis), query.hypothesis_rule),
        "filters": [
            ("dataset", _("Dataset"), _same(covered.datasets), query.dataset),
            ("split", _("Split"), _same(covered.splits), query.split),
            ("system", _("System"), _same(covered.systems), query.system),
            ("category", _("Category"), categories_of(session, chosen), query.category),
        ],
    }


def _rules(campaign: Campaign | None, chosen: str) -> dict[str, str]:
    """Name the rules that make sense for a campaign, and the chosen one."""
    rules = {
        "first": _("the first of each output"),
        "each": _("each, counts pooled"),
        "pairs": _("mean over all pairs"),
    }
    orders = annotator_orders(reading(), campaign) if campaign is not None else []
    if len(orders) > 1:
        groups = orders[:MOST_GROUPS_OFFERED]
        rules |= {f"group={order}": _("annotator %(number)s of each output", number=order) for order in groups}
    rules.setdefault(chosen, chosen)
    return rules


def _same(names: list[str]) -> dict[str, str]:
    return {name: name for name in names}
