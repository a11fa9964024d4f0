"""Choices of the forms for comparisons: rules for several annotators, and filters of the chosen campaigns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask_babel import gettext as _

from spanplat.models import Campaign
from spanplat.services.agreement.sides import categories_of
from spanplat.services.campaigns.progress import annotator_orders, coverage
from spanplat.web.session import reading

MOST_GROUPS_OFFERED = 10


@dataclass(frozen=True)
class ChoiceList:
    """List for a multiple choice; an empty choice means all."""

    name: str
    title: str
    choices: Mapping[str, str]
    """Titles by value."""
    chosen: Sequence[str]


def rules_of(campaign: Campaign | None, chosen: str, *, pairs: bool = False) -> dict[str, str]:
    """Return the names of the rules that fit a campaign's annotators, and of the chosen rule."""
    rules = {"first": _("the first of each output"), "each": _("each, counts pooled")}
    if pairs:
        rules["pairs"] = _("mean over all pairs")
    orders = annotator_orders(reading(), campaign) if campaign is not None else []
    if len(orders) > 1:
        groups = orders[:MOST_GROUPS_OFFERED]
        rules |= {f"group={order}": _("annotator %(number)s of each output", number=order) for order in groups}
    # A rule from the address stays in the list even if it does not fit, so that sending the form does not change it.
    rules.setdefault(chosen, chosen)
    return rules


def filters_of(
    campaigns: Sequence[Campaign],
    datasets: Sequence[str],
    splits: Sequence[str],
    systems: Sequence[str],
    categories: Sequence[str] | None = None,
) -> list[ChoiceList]:
    """Return the filters for the data of the campaigns, with the chosen values; without categories if they are None."""
    if not campaigns:
        return []
    covered, session = coverage(reading(), campaigns), reading()
    lists = [
        ChoiceList("dataset", _("Dataset"), {name: name for name in covered.datasets}, datasets),
        ChoiceList("split", _("Split"), {name: name for name in covered.splits}, splits),
        ChoiceList("system", _("System"), {name: name for name in covered.systems}, systems),
    ]
    if categories is not None:
        lists.append(ChoiceList("category", _("Category"), categories_of(session, campaigns), categories))
    # A filter with one choice filters nothing. A filter in use stays, so that the form can remove it.
    return [one for one in lists if len(one.choices) > 1 or one.chosen]
