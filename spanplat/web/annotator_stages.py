"""The pages of an annotator's visit, one for each stage; what a researcher previews is these very pages."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from typing import Any

from flask import current_app, render_template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from spanplat.models import Assignment
from spanplat.platforms.departures import Departure
from spanplat.rendering.markdown import inline_markdown, render_markdown
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.worked_examples import WorkedExample
from spanplat.services.golds import CodedSpans
from spanplat.services.pages import ItemState, list_items, show_item
from spanplat.services.practice import Feedback
from spanplat.web import locale
from spanplat.web.annotator_page import direction_of, first_open, page_data, page_language
from spanplat.web.session import reading
from spanplat.web.sources import html_of, item_source_html

MOST_IN_STRIP = 400
"""Items whose buttons stand in the page; the script puts those of a longer batch after them. More than are seen at once."""
MOST_WITH_HOTKEYS = 9
"""Categories that each have a digit; where there are more, they can be looked for by name."""


@dataclass(frozen=True)
class Preview:
    """What a researcher chose to see, and what there is to choose from."""

    address: str
    """Where the form of the choices leads."""
    back: str
    """Address of the page that the preview belongs to."""
    back_label: str
    version: str
    """Digest of the definition: what was tried out under another one is forgotten."""
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
    """What cannot be shown to annotators, and why."""


@dataclass(frozen=True)
class Visitor:
    """For whom a page is made."""

    definition: CampaignDefinition
    base: str
    """Address that everything the page calls lies below, without a slash at its end."""
    group: str | None = None
    is_further_try: bool = False
    """Whether leaving ends the try at hand alone, because an earlier one is submitted."""
    language: str | None = None
    """The campaign's, when none is asked for."""
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
                from_platform=self.definition.platform.service != "direct",
                **values,
            )


def instructions(visitor: Visitor) -> dict[str, Any]:
    """Return what the instructions show."""
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
    """Render the consent form; it says so if it changed while it was being read.

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
    """Render the page on which the items are annotated, with one of them: the first that is not complete, unless one is named."""
    states = list_items(reading(), assignment)
    position = first_open(states) if position is None else position
    return marking_page(visitor, states, show_item(reading(), visitor.definition, assignment, position))


def marking_page(
    visitor: Visitor, states: Sequence[ItemState], current: Mapping[str, Any], *, practice: int | None = None
) -> str:
    """Render the page on which one of several items, as `spanplat.services.pages.show_item` gives it, is annotated.

    ``practice`` is the number of a practice item, which stands alone. Instructions come first where nobody has read them yet: before
    practice or, where there is none, before the work.
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
        # What the page shows of the source stands in the page.
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
        opening=is_untouched and (practice == 1 or not definition.practice),
    )


@cache
def _script_strings(language: str) -> Markup:
    """Return what the page's scripts say; rendered once, because looking up each of them takes a third of the page's time."""
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


@lru_cache(maxsize=256)
def _keys(language: str, **differences: str | bool) -> Markup:
    """Return the list of keys; rendered once for each way in which campaigns differ in it, like what the scripts say."""
    with locale.speaking(language):
        return Markup(render_template("annotator/_keys.html", **differences))  # noqa: S704 - rendered by a template


def feedback_page(visitor: Visitor, feedback: Feedback) -> str:
    """Render a practice item beside what was expected of it."""
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
    """Return one item as the page's scripts fetch it: with its source as it is stored, and as it is shown."""
    return {**item, "source_html": item_source_html(definition, item, language)}


@dataclass(frozen=True)
class Result:
    """What became of submitted work, as its annotator is told."""

    verdict: str = ""
    """Markdown; what the campaign says to those who passed or failed its qualification."""
    may_try_again: bool = False
    left_a_try: bool = False
    """Whether a further try was begun and left."""
    was_stopped: bool = False
    """Whether a check ended a further try."""
    stopping_message: str = ""
    """What the campaign says about it."""
    failed_attention: bool = False
    earned_bonus: bool | None = None
    """None where no bonus is promised."""


def done_page(visitor: Visitor, departure: Departure, result: Result) -> str:
    """Render the thanks, with the code earned, and with what became of the work and its pay."""
    return visitor.page(
        "done.html",
        departure=departure,
        final_message=render_markdown(visitor.definition.final_message),
        bonus=visitor.definition.platform.bonus,
        **asdict(result) | {"verdict": render_markdown(result.verdict)},
    )


def _worked(definition: CampaignDefinition, example: WorkedExample, language: str) -> dict[str, Any]:
    """Return a worked example with its spans in their places."""
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
    """Keep the order of keys, which Jinja would sort."""
    return current_app.json.dumps(value)
