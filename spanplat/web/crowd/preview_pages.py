"""Preview of the annotator's pages for researchers, for everything that has a definition. Nothing is stored.

The address of a preview contains the batch, the language and the group. So the annotators' scripts work here without a change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from babel import Locale
from flask import Blueprint, Response, jsonify, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from spanplat.errors import NotFound
from spanplat.models import Assignment, Campaign, Participation
from spanplat.platforms.departures import departure
from spanplat.platforms.platform import Departure
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.suggestions import explain_suggestions
from spanplat.services.crowd.pages import list_items, show_item
from spanplat.services.crowd.practice import check_practice, expected_of, practice_source, practice_state, show_practice
from spanplat.services.crowd.previews import check_save, preview_seat
from spanplat.web import locale
from spanplat.web.crowd.annotator_page import page_language
from spanplat.web.crowd.annotator_stages import (
    Preview,
    Visitor,
    WorkResult,
    comprehension_page,
    consent_page,
    done_page,
    feedback_page,
    item_data,
    marking_page,
    work_page,
)
from spanplat.web.crowd.submissions import read_submission
from spanplat.web.policy import policy
from spanplat.web.session import forget_snapshot, reading
from spanplat.web.sources import chart_of, example_chart

CHOICE = "/<int:batch>/<language>/<group>"
PRACTICE = "/practice/<int:number>"
_CHOSEN = ("batch", "language", "group")
EVERYBODY = "everybody"
"""Part of the address in place of the group, for campaigns without groups."""


@dataclass(frozen=True)
class Subject:
    """Campaign or draft that is previewed."""

    definition: CampaignDefinition
    batches: int
    back: str
    """Address of its page in the studio."""
    back_label: str
    open: Callable[[int], Campaign]
    """Return the campaign to read from, with at least the batch of this number."""


@dataclass(frozen=True)
class PreviewChoice:
    """Subject of a preview with the chosen batch, language and group."""

    subject: Subject
    names: dict[str, Any]
    """Variable parts of the address."""
    campaign: Campaign
    seat: Assignment

    @property
    def definition(self) -> CampaignDefinition:
        """Return the definition."""
        return self.subject.definition

    @property
    def group(self) -> str | None:
        """Return the key of the group; None if there are no groups."""
        group: str = self.names["group"]
        return None if group == EVERYBODY else group


View = Callable[[PreviewChoice], AnyResponse | str]


def preview_blueprint(name: str, prefix: str, *, access: str, find: Callable[[str], Subject]) -> Blueprint:
    """Create the routes of a preview.

    Parameters
    ----------
    name
        Name of the blueprint.
    prefix
        Prefix of the addresses, with one variable part.
    access
        Role that may look; see `spanplat.web.policy.policy`.
    find
        Function that finds the subject by the variable part of the address.
    """
    blueprint = Blueprint(name, __name__, url_prefix=prefix)

    def show(**names: str) -> AnyResponse:
        return _go_to_first(find(*names.values()), names)

    blueprint.get("", endpoint="show")(policy(access)(show))
    for view, method, place in (
        (_work, "GET", ""),
        (_consent, "POST", "/consent"),
        (_comprehension, "POST", "/comprehension"),
        (_withdraw, "POST", "/withdraw"),
        (_submit, "POST", "/submit"),
        (_items, "GET", "/items"),
        (_item, "GET", "/items/<int:position>"),
        (_source_chart, "GET", "/items/<int:position>/charts/<int:chart>"),
        (_example_chart, "GET", "/examples/<int:example>/charts/<int:chart>"),
        (_save, "PUT", "/items/<int:position>"),
        (_practice_items, "GET", f"{PRACTICE}/items"),
        (_practice_item, "GET", f"{PRACTICE}/items/1"),
        (_practice_chart, "GET", f"{PRACTICE}/items/1/charts/<int:chart>"),
        (_example_chart_in_practice, "GET", f"{PRACTICE}/examples/<int:example>/charts/<int:chart>"),
        (_save_practice, "PUT", f"{PRACTICE}/items/1"),
        (_submit_practice, "POST", f"{PRACTICE}/submit"),
        (_leave_feedback, "POST", f"{PRACTICE}/continue"),
        (_withdraw_from_practice, "POST", f"{PRACTICE}/withdraw"),
    ):
        endpoint = view.__name__.removeprefix("_")
        blueprint.add_url_rule(f"{CHOICE}{place}", endpoint, policy(access)(_with_choice(view, find)), methods=[method])
    return blueprint


def _with_choice(view: View, find: Callable[[str], Subject]) -> Callable[..., AnyResponse | str]:
    def run(**parts: Any) -> AnyResponse | str:
        # What is left are the parts that each address of this preview shares; views read the others themselves.
        for part in ("position", "number", "example", "chart"):
            parts.pop(part, None)
        subject = next(value for name, value in parts.items() if name not in _CHOSEN)
        return view(_choice(find(subject), parts))

    return run


def _go_to_first(subject: Subject, names: Mapping[str, Any]) -> AnyResponse:
    """Redirect to the page that was chosen in the preview's form."""
    definition = subject.definition
    chosen: dict[str, Any] = {
        "group": request.args.get("group") or (definition.groups[0].key if definition.groups else EVERYBODY),
        "language": request.args.get("language") or page_language(definition),
        # Addresses may be edited by hand, and a draft may have fewer batches than at the last visit.
        "batch": min(max(1, request.args.get("batch", 1, type=int)), max(1, subject.batches)),
    }
    shown: dict[str, Any] = {name: value for name in ("page", "item") if (value := request.args.get(name))}
    return redirect(url_for(".work", **names, **chosen, **shown), 303)


def _work(choice: PreviewChoice) -> str:
    """Show the chosen page."""
    return _page(choice, request.args.get("page", "work"))


def _consent(choice: PreviewChoice) -> AnyResponse | str:
    """Show the page that follows the decision on the consent form."""
    if request.form.get("agreed") != "yes":
        return _visitor(choice, "consent").page(
            "ended.html", reason="no_consent", departure=_departure(choice, "no_consent")
        )
    if choice.definition.comprehension is not None:
        return _go_to(choice, "comprehension")
    return _go_to_practice_or_work(choice)


def _comprehension(choice: PreviewChoice) -> AnyResponse | str:
    """Check the answers to the comprehension questions."""
    if choice.definition.comprehension is None or choice.definition.comprehension.is_passed_by(request.form):
        return _go_to_practice_or_work(choice)
    return comprehension_page(_visitor(choice, "comprehension"), attempts_made=1)


def _withdraw(choice: PreviewChoice) -> str:
    """Show the page that an annotator sees after withdrawing."""
    return _visitor(choice, "work").page("ended.html", reason="withdrawn", departure=_departure(choice, "no_consent"))


def _submit(choice: PreviewChoice) -> AnyResponse:
    """Go to the last page."""
    return _go_to(choice, "done")


def _items(choice: PreviewChoice) -> Response:
    """List the items of the batch."""
    return jsonify(list_items(reading(), choice.seat))


def _item(choice: PreviewChoice) -> Response:
    """Return one untouched item."""
    shown = show_item(reading(), choice.definition, choice.seat, _number("position"))
    return jsonify(item_data(choice.definition, shown, choice.names["language"]))


def _source_chart(choice: PreviewChoice) -> Response:
    """Draw a chart of an item's source."""
    source = show_item(reading(), choice.definition, choice.seat, _number("position"))["source"]
    forget_snapshot()  # drawing takes long, and the preview of a draft holds the write lock
    return chart_of(choice.definition, source, _number("chart"))


def _example_chart(choice: PreviewChoice) -> Response:
    """Draw a chart of a worked example in the instructions."""
    return example_chart(choice.definition, _number("example"), _number("chart"))


def _save(choice: PreviewChoice) -> Response:
    """Check a save and answer as if it were stored; only the browser keeps it."""
    submission = read_submission()
    check_save(reading(), choice.campaign, choice.seat, _number("position"), submission)
    return jsonify(revision=submission.revision + 1)


def _practice_items(_choice: PreviewChoice) -> Response:
    """List the only item."""
    return jsonify([practice_state(Participation(), 1)])


def _practice_item(choice: PreviewChoice) -> Response:
    """Return one untouched practice item."""
    shown = show_practice(reading(), choice.definition, Participation(), _number("number"))
    return jsonify(item_data(choice.definition, shown, choice.names["language"]))


def _practice_chart(choice: PreviewChoice) -> Response:
    """Draw a chart of a practice item's source."""
    source = practice_source(reading(), choice.definition, _number("number"))
    forget_snapshot()
    return chart_of(choice.definition, source, _number("chart"))


def _example_chart_in_practice(choice: PreviewChoice) -> Response:
    """Draw a chart of a worked example in the instructions on a practice page."""
    return _example_chart(choice)


def _save_practice(choice: PreviewChoice) -> Response:
    """Check a save of practice and answer as if it were stored; only the browser keeps it."""
    submission = read_submission()
    check_practice(reading(), choice.definition, _number("number"), submission)
    return jsonify(revision=submission.revision + 1)


def _submit_practice(choice: PreviewChoice) -> AnyResponse:
    """Redirect to the feedback on a practice item."""
    return _go_to(choice, "feedback", item=_number("number"))


def _leave_feedback(choice: PreviewChoice) -> AnyResponse:
    """Redirect to the next practice item, or to the work."""
    number = _number("number")
    if number < len(choice.definition.practice):
        return _go_to(choice, "practice", item=number + 1)
    return _go_to(choice, "work")


def _withdraw_from_practice(choice: PreviewChoice) -> str:
    """Show the page that an annotator sees after withdrawing."""
    return _withdraw(choice)


def _number(part: str) -> int:
    """Return a number from the address."""
    number: int = (request.view_args or {})[part]
    return number


def _choice(subject: Subject, names: dict[str, Any]) -> PreviewChoice:
    language, group, slug = names["language"], names["group"], subject.definition.slug
    if language not in locale.available():
        raise NotFound(f"the pages are not translated to {language!r}; there are {', '.join(locale.available())}")
    if group != EVERYBODY and group not in {entry.key for entry in subject.definition.groups}:
        raise NotFound(f"campaign {slug!r} has no group {group!r}")
    # After the address is validated: opening a draft takes the write lock until the request ends.
    campaign = subject.open(names["batch"])
    return PreviewChoice(subject, names, campaign, preview_seat(reading(), campaign, names["batch"]))


def _page(choice: PreviewChoice, page: str) -> str:
    visitor = _visitor(choice, page)
    match page:
        case "consent" if choice.definition.consent is not None:
            return consent_page(visitor)
        case "comprehension" if choice.definition.comprehension is not None:
            return comprehension_page(visitor, attempts_made=0)
        case "practice" | "feedback" if choice.definition.practice:
            return _practice_page(choice, visitor)
        case "done":
            promised = bool(choice.definition.platform.bonus)
            # Without a bonus the page must say nothing about one, and False would say that it was missed.
            return done_page(visitor, _departure(choice, "completed"), WorkResult(earned_bonus=promised or None))
        case "work":
            return work_page(visitor, choice.seat, position=visitor.preview.item if visitor.preview else 1)
        case _:
            raise NotFound(f"campaign {choice.definition.slug!r} has no page {page!r} to preview")


def _practice_page(choice: PreviewChoice, visitor: Visitor) -> str:
    """Show a practice item, or its feedback for somebody who marked exactly the expected spans."""
    definition, preview = choice.definition, visitor.preview
    if preview is None:
        raise AssertionError("the visitor of a preview has one")
    if preview.page == "feedback":
        return feedback_page(visitor, expected_of(reading(), definition, preview.item))
    marking = replace(visitor, base=f"{visitor.base}/practice/{preview.item}")
    current = show_practice(reading(), definition, Participation(), preview.item)
    return marking_page(marking, [practice_state(Participation(), 1)], current, practice=preview.item)


def _visitor(choice: PreviewChoice, page: str) -> Visitor:
    definition = choice.definition
    positions = [state.position for state in list_items(reading(), choice.seat)]
    if page in ("practice", "feedback"):
        positions = list(range(1, len(definition.practice) + 1)) or positions
    preview = Preview(
        address=url_for(".show", **{name: choice.names[name] for name in choice.names if name not in _CHOSEN}),
        back=choice.subject.back,
        back_label=choice.subject.back_label,
        version=choice.campaign.definition_sha256,
        page=page,
        pages=["consent"] * (definition.consent is not None)
        + ["comprehension"] * (definition.comprehension is not None)
        + ["practice", "feedback"] * bool(definition.practice)
        + ["work", "done"],
        batch=choice.names["batch"],
        batches=choice.subject.batches,
        item=min(max(positions[0], request.args.get("item", 1, type=int)), positions[-1]),
        items=positions[-1],
        group=choice.group,
        groups={group.key: group.name for group in definition.groups},
        language=choice.names["language"],
        notes=explain_suggestions(reading(), choice.campaign),
        languages={code: str(Locale.parse(code).get_display_name(code)) for code in locale.available()},
    )
    language = choice.names["language"]
    return Visitor(definition, url_for(".work", **choice.names), choice.group, language=language, preview=preview)


def _departure(choice: PreviewChoice, outcome: str) -> Departure:
    return departure(choice.definition.platform, outcome, {})


def _go_to_practice_or_work(choice: PreviewChoice) -> AnyResponse:
    return _go_to(choice, "practice" if choice.definition.practice else "work")


def _go_to(choice: PreviewChoice, page: str, item: int | None = None) -> AnyResponse:
    return redirect(url_for(".work", **choice.names, page=page, item=item), 303)
