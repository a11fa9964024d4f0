"""Data of the annotator's page: the campaign as its scripts need it, without anything that annotators must not know."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from babel import Locale

from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import AnyQuestion
from spanplat.services.crowd.pages import ItemState
from spanplat.web import locale


def page_data(
    definition: CampaignDefinition,
    *,
    base: str,
    group: str | None,
    language: str,
    items: Sequence[ItemState],
    current: Mapping[str, Any],
    practice: int | None = None,
) -> dict[str, Any]:
    """Return the JSON that the page starts from.

    Parameters
    ----------
    definition
        The campaign's definition.
    base
        Common prefix of all addresses that the page requests, without a slash at its end.
    group
        Group of the annotator; it selects the wording of questions.
    language
        Language of the interface; the browser segments words by its rules.
    items
        States of the batch's items, in order.
    current
        The item shown first, as `spanplat.services.crowd.pages.show_item` returns it.
    practice
        Number of the practice item; None for a real item.
    """
    return {
        "base": base,
        "title": definition.title,
        "language": language,
        "granularity": definition.spans.granularity,
        "overlap": definition.spans.overlap,
        "reason": definition.spans.reason,
        "categories": [
            {
                **category.model_dump(include={"key", "name", "description", "color", "hotkey", "exclusive", "side"}),
                "subcategories": [_named(entry) for entry in category.subcategories],
            }
            for category in definition.categories
        ],
        "omissions": definition.spans.omissions,
        "suggestions": definition.spans.suggestions if definition.spans.suggestions_from else None,
        "attributes": [attribute.model_dump() for attribute in definition.spans.attributes],
        "marks_source": definition.marks_source,
        "pairs": definition.item.kind == "pair",
        "severities": [_named(level) for level in definition.severities],
        "questions": [_question(question, group) for question in definition.questions],
        "items": _item_runs(items),
        "current": current,
        "practice": None if practice is None else {"number": practice, "total": len(definition.practice)},
    }


def first_open(items: Sequence[ItemState]) -> int:
    """Return the position of the first incomplete item; that of the last item if all are complete."""
    return next((state.position for state in items if state.status != "complete"), items[-1].position)


def page_language(definition: CampaignDefinition) -> str:
    """Return the campaign's language if the interface is translated to it, else the browser's preference."""
    return definition.language if definition.language in locale.available() else locale.choose()


def direction_of(language: str) -> str:
    """Return the writing direction of a language, ``ltr`` or ``rtl``."""
    return str(Locale.parse(language, sep="-").text_direction)


def _item_runs(items: Sequence[ItemState]) -> list[list[int] | dict[str, Any]]:
    """Return the states of the items, with runs of untouched items as pairs of positions: a batch may have thousands of items."""
    listed: list[list[int] | dict[str, Any]] = []
    for state in items:
        last = listed[-1] if listed else None
        if state.status != "new" or state.revision:
            listed.append(asdict(state))
        elif isinstance(last, list) and last[1] == state.position - 1:
            last[1] = state.position
        else:
            listed.append([state.position, state.position])
    return listed


def _named(entry: Any) -> dict[str, str]:
    return {"key": entry.key, "name": entry.name}


def _question(question: AnyQuestion, group: str | None) -> dict[str, Any]:
    shown: dict[str, Any] = question.model_dump(exclude={"wording", "help", "label"})
    return {**shown, "label": question.label_for(group)}
