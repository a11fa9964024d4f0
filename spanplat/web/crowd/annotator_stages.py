"""Pages of an annotator's visit, one for each stage. A researcher's preview shows the same pages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any

from flask import current_app, render_template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from spanplat.models import Assignment
from spanplat.platforms.platform import Departure
from spanplat.rendering.markdown import inline_markdown, render_markdown
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.worked_examples import WorkedExample
from spanplat.services.crowd.golds import CodedSpans
from spanplat.services.crowd.pages import ItemState, list_items, show_item
from spanplat.services.crowd.practice import Feedback
from spanplat.web import locale
from spanplat.web.crowd.annotator_page import direction_of, first_open, page_data, page_language
from spanplat.web.session import reading
from spanplat.web.sources import html_of, item_source_html

MOST_IN_STRIP = 400
"""Number of item buttons in the HTML, more than fit on a screen. For a longer batch the script adds the others."""
MOST_WITH_HOTKEYS = 9
"""Largest number of categories with a digit each. If there are more, the page has a search by name."""


@dataclass(frozen=True)
class Preview:
    """Choices of a researcher in a preview, and their alternatives."""

    address: str
    """Address that the form of the choices is sent to."""
    back: str
    """Address of the page that the preview was opened from."""
    back_label: str
    version: str
    """Digest of the definition. Work that was tried under another definition is dropped."""
    page: str
    pages: list[str]
    batch: int
    batches: int
    item: int
    items: int
    group: str | None
    groups: dict[str, str]
    """Names by key."""
    language: str
    languages: dict[str, str]
    """Names by code."""
    notes: list[str]
    """Things that cannot be shown to annotators, with the reasons."""


@dataclass(frozen=True)
class Visitor:
    """Person who sees a page: an annotator, or a researcher in a preview."""

    definition: CampaignDefinition
    base: str
    """Common prefix of all addresses that the page requests, without a slash at its end."""
    group: str | None = None
    is_further_try: bool = False
    """Whether leaving ends only this try, because an earlier one is submitted."""
    language: str | None = None
    """Language chosen in a preview; None for the campaign's."""
    preview: Preview | None = None

    @property
    def speaks(self) -> str:
        """Return the language of the visitor's pages."""
        return self.language or page_language(self.definition)

    def page(self, template: str, **values: Any) -> str:
        """Render a page in the visitor's language."""
        language = self.speaks
        bar = ""
        if self.preview is not None:
            with locale.speaking(locale.SOURCE_LANGUAGE):  # the researcher's, not the annotator's
                bar = render_template("campaign/_preview_bar.html", preview=self.preview)
        with locale.speaking(language):
            return render_template(
                f"annotator/{template}",
                title=self.definition.title,
                language=language,
                direction=direction_of(language),
                base=self.base,
                preview=self.preview,
                preview_bar=Markup(bar),  # noqa: S704 - rendered by a template
                deletes=self.definition.annotators.withdrawn == "delete",
                is_further_try=self.is_further_try,
                reward=self.definition.platform.reward,
                from_platform=self.definition.platform.profile.is_marketplace,
                **values,
            )


def instructions(visitor: Visitor) -> dict[str, Any]:
    """Return the values for the template of the instructions."""
    definition, language = visitor.definition, visitor.speaks
    return {
        "guidelines": render_markdown(definition.guidelines),
        "categories": definition.categories,
        "worked_examples": [_worked(definition, example, language) for example in definition.worked_examples],
        "worked_categories": [
            category.model_dump(include={"key", "name", "color", "hotkey"}) for category in definition.categories
        ],
        "inline_markdown": inline_markdown,
    }


def consent_page(visitor: Visitor, *, changed: bool = False) -> str:
    """Render the consent form, with a notice if the form changed while it was read.

    Raises
    ------
    AssertionError
        If the campaign has none.
    """
    consent = visitor.definition.consent
    if consent is None:
        raise AssertionError("the stage says that there is a consent form")
    return visitor.page(
        "consent.html", consent_text=render_markdown(consent.text), version=consent.version, changed=changed
    )


def comprehension_page(visitor: Visitor, attempts_made: int) -> str:
    """Render the questions about the instructions.

    Raises
    ------
    AssertionError
        If the campaign asks none.
    """
    asked = visitor.definition.comprehension
    if asked is None:
        raise AssertionError("the stage says that there are comprehension questions")
    return visitor.page(
        "comprehension.html",
        **instructions(visitor),
        questions=asked.questions,
        attempts=asked.attempts,
        attempts_left=asked.attempts - attempts_made,
        attempt=attempts_made + 1,
    )


def work_page(visitor: Visitor, assignment: Assignment, *, position: int | None = None) -> str:
    """Render the annotation page with the item at ``position``; by default the first incomplete item."""
    states = list_items(reading(), assignment)
    position = first_open(states) if position is None else position
    return marking_page(visitor, states, show_item(reading(), visitor.definition, assignment, position))


def marking_page(
    visitor: Visitor, states: Sequence[ItemState], current: Mapping[str, Any], *, practice: int | None = None
) -> str:
    """Render the annotation page for one item, as `spanplat.services.crowd.pages.show_item` returns it.

    ``practice`` is the number of a practice item, which has a page of its own. Before the first item, the page opens with the
    instructions.
    """
    definition = visitor.definition
    language = visitor.speaks
    source_html = item_source_html(definition, current, language)
    data = page_data(
        definition,
        base=visitor.base,
        group=visitor.group,
        language=language,
        items=states,
        # The HTML already contains the rendered source, so the raw source would double the size of the page's data.
        current={name: value for name, value in current.items() if name != "source"},
        practice=practice,
    )
    many = len(definition.categories) > MOST_WITH_HOTKEYS
    is_untouched = all(state.revision == 0 for state in states)
    return visitor.page(
        "work.html",
        **instructions(visitor),
        page=data,
        strip=states[:MOST_IN_STRIP],
        total=len(states),
        source_html=source_html,
        page_json=htmlsafe_json_dumps(data, dumps=_dump_in_order),
        many=many,
        keys=_keys_of(definition, language, many=many),
        script_strings=_script_strings(language),
        group=visitor.group,
        number=[state.position for state in states].index(current["position"]) + 1,
        questions=definition.questions,
        # With practice, the instructions are already read at its first item.
        opening=is_untouched and (practice == 1 or not definition.practice),
    )


@cache
def _script_strings(language: str) -> Markup:
    """Return the strings of the page's scripts. They are cached: the look-ups take a third of the page's time."""
    with locale.speaking(language):
        return Markup(render_template("annotator/_strings.html"))  # noqa: S704 - rendered by a template


def _keys_of(definition: CampaignDefinition, language: str, *, many: bool) -> Markup:
    categories = definition.categories
    return _keys(
        language,
        first_key=(categories[0].hotkey if categories else None) or "1",
        finds_categories=many,
        marks_words=definition.spans.granularity != "character",
        marks_omissions=definition.spans.omissions,
        suggests=definition.spans.suggestions_from is not None,
    )


@lru_cache(maxsize=256)  # bounded, because the first hotkey may be different in each campaign
def _keys(language: str, **differences: str | bool) -> Markup:
    """Return the list of keys. It is cached for each combination of settings, like the strings of the scripts."""
    with locale.speaking(language):
        return Markup(render_template("annotator/_keys.html", **differences))  # noqa: S704 - rendered by a template


def feedback_page(visitor: Visitor, feedback: Feedback) -> str:
    """Render the annotator's marks on a practice item beside the expected marks."""
    categories = visitor.definition.categories

    def drawn(spans: CodedSpans) -> dict[str, Any]:
        ordered = sorted(spans)
        marks = [{"start": start, "end": end, "category": categories[code].key} for start, end, code in ordered]
        rows = [{"quote": feedback.text[start:end], "category": categories[code]} for start, end, code in ordered]
        return {"marks": marks, "spans": rows}

    return visitor.page(
        "feedback.html",
        feedback=feedback,
        marked=drawn(feedback.marked),
        expected=drawn(feedback.expected),
        explanation=render_markdown(feedback.explanation),
        worked_categories=[category.model_dump(include={"key", "name", "color", "hotkey"}) for category in categories],
    )


def item_data(definition: CampaignDefinition, item: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return one item for the page's scripts, with the stored source and its HTML."""
    return {**item, "source_html": item_source_html(definition, item, language)}


@dataclass(frozen=True)
class WorkResult:
    """Result of submitted work, for its annotator."""

    verdict: str = ""
    """Message of a qualification to those who passed or failed, in Markdown."""
    may_try_again: bool = False
    left_a_try: bool = False
    """Whether the annotator began a further try and left it."""
    was_stopped: bool = False
    """Whether a check ended a further try."""
    stopping_message: str = ""
    """Message of that check."""
    failed_attention: bool = False
    earned_bonus: bool | None = None
    """Whether the annotator earned the bonus; None if there is none."""


def done_page(visitor: Visitor, departure: Departure, result: WorkResult) -> str:
    """Render the last page: thanks, the completion code, and the result of the work and its pay."""
    return visitor.page(
        "done.html",
        departure=departure,
        final_message=render_markdown(visitor.definition.final_message),
        bonus=visitor.definition.platform.bonus,
        **asdict(result) | {"verdict": render_markdown(result.verdict)},
    )


def _worked(definition: CampaignDefinition, example: WorkedExample, language: str) -> dict[str, Any]:
    """Return a worked example with its spans in the order of the text."""
    # Definitions may give a severity by its key or by its name.
    levels = {name: level.name for level in definition.severities for name in (level.key, level.name)}
    placed = sorted((*example.place(span), number) for number, span in enumerate(example.spans))
    categories = {span.category: definition.find_category(span.category) for span in example.spans}
    return {
        "text": example.text,
        "source": html_of(definition, example.source, language),
        "note": example.note,
        "spans": [
            {
                "quote": span.quote,
                "category": categories[span.category],
                "severity": levels.get(span.severity or ""),
                "why": span.why,
            }
            for span in (example.spans[number] for _, _, number in placed)
        ],
        "marks": [
            {"start": start, "end": end, "category": category.key}
            for start, end, number in placed
            if (category := categories[example.spans[number].category]) is not None
        ],
    }


def _dump_in_order(value: Any, **_sorting: Any) -> str:
    """Serialise without sorting the keys, as Jinja would do: the order of categories and questions matters."""
    return current_app.json.dumps(value)
