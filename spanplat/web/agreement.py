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
from spanplat.services.progress import Coverage, coverage
from spanplat.services.sides import Filters, Rule, categories_of
from spanplat.web.agreement_view import AgreementView
from spanplat.web.policy import policy
from spanplat.web.session import database, reading

blueprint = Blueprint("agreement", __name__, url_prefix="/admin/agreement")


class AgreementQuery(Strict):
    """What the address of the agreement page says; it is enough to compute the same figures again."""

    reference: str = ""
    hypothesis: str = ""
    rule: str = "first"
    """For the reference, and for the hypothesis unless that has its own."""
    hypothesis_rule: str = ""
    matching: Literal["optimal", "greedy"] = "optimal"
    empty: Literal["include", "skip"] = "include"
    seed: int = 42
    samples: int = 30
    dataset: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    """Keys of categories."""

    @field_validator("rule")
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
        rule = self.hypothesis_rule or self.rule
        sides = {"reference": self.hypothesis, "hypothesis": self.reference}
        rules = {"rule": rule, "hypothesis_rule": self.rule if self.hypothesis_rule else ""}
        return self.model_copy(update=sides | rules)

    def options(self) -> AgreementOptions:
        """Return how to compute the figures."""
        return AgreementOptions(
            reference_rule=self.rule,
            hypothesis_rule=self.hypothesis_rule or self.rule,
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


@blueprint.get(".json")
@policy("viewer")
def download() -> Response:
    """Return all figures, in the form of ``spanplat agreement --json``."""
    return jsonify(_compute(AgreementQuery.from_request()))


def _compute(query: AgreementQuery) -> dict[str, Any]:
    return compute_agreement(database(), query.reference, query.hypothesis, query.options())


def _choices(query: AgreementQuery, campaigns: list[Campaign]) -> dict[str, Any]:
    """Return what the form offers: rules, and the filters that both campaigns know."""
    chosen = [campaign for campaign in campaigns if campaign.slug in (query.reference, query.hypothesis)]
    covered = coverage(reading(), chosen) if chosen else Coverage()
    rules = {
        "first": _("the first annotator of each output"),
        "each": _("every annotator with every other, pooled"),
        "pairs": _("mean over pairs of annotators"),
    }
    rules.setdefault(query.rule, query.rule)
    filters = [
        ("dataset", _("Dataset"), _same(covered.datasets), query.dataset),
        ("split", _("Split"), _same(covered.splits), query.split),
        ("system", _("System"), _same(covered.systems), query.system),
        ("category", _("Category"), categories_of(reading(), chosen), query.category),
    ]
    return {"rules": rules, "filters": filters}


def _same(names: list[str]) -> dict[str, str]:
    return {name: name for name in names}
