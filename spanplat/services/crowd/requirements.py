"""Validation of submitted items: spans must match the text, and a complete item must have everything that is required."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from spanplat.errors import Conflict, InvalidInput
from spanplat.schemas.attributes import problem_with_attribute
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.questions import NoErrorsQuestion
from spanplat.schemas.submission import Submission, SubmittedSpan
from spanplat.services.campaigns import ItemSuggestion
from spanplat.text.counting import count_of


@dataclass(frozen=True)
class ItemTexts:
    """Texts of an item; the offsets of its spans refer to them."""

    outputs: Sequence[str]
    source: Mapping[str, str]
    """Plain text by field."""


class TextMismatch(Conflict):
    """The quote of a span differs from the text at its offsets: page and server have different texts (HTTP 409)."""


def check_submission(
    definition: CampaignDefinition,
    texts: ItemTexts,
    submission: Submission,
    suggestions: Sequence[ItemSuggestion] = (),
) -> None:
    """Raise unless a submission may be stored.

    Raises
    ------
    TextMismatch
        If the quote of a span differs from the text at its offsets.
    InvalidInput
        If the campaign does not allow a span or answer, or a complete item lacks something; the message says which.
    """
    for number, span in enumerate(submission.spans, start=1):
        _check_span(definition, texts, span, f"span {number}")
    _check_together(definition, texts, submission.spans)
    _check_decisions(suggestions, submission)
    questions = {question.key: question for question in definition.questions}
    for key, answer in submission.answers.items():
        if key not in questions:
            raise InvalidInput(f"answers.{key}: the campaign asks no such question")
        # A draft may leave an answer open.
        if answer is not None and (problem := questions[key].problem_with(answer)):
            raise InvalidInput(f"answers.{key}: {problem}")
    if submission.status == "complete" and (missing := missing_from(definition, submission, suggestions)):
        raise InvalidInput("; ".join(missing))


def missing_from(
    definition: CampaignDefinition, submission: Submission, suggestions: Sequence[ItemSuggestion] = ()
) -> list[str]:
    """Return what a complete item still lacks, one sentence for each point."""
    missing = [
        f"answer “{question.label}”"
        for question in definition.questions
        if question.required and question.is_unanswered(submission.answers.get(question.key))
    ]
    missing += [
        f"choose at least {count_of(question.fewest, 'answer')} to “{question.label}”"
        for question in definition.questions
        if question.fewest and len(submission.answers.get(question.key) or []) < question.fewest
    ]
    no_errors = next((q for q in definition.questions if isinstance(q, NoErrorsQuestion)), None)
    if no_errors is not None:
        ticked = submission.answers.get(no_errors.key) is True
        if not ticked and not submission.spans:
            missing.append(f"mark a span, or tick “{no_errors.label}”")
        if ticked and submission.spans:
            missing.append(f"untick “{no_errors.label}”, or remove the spans")
    for number, span in enumerate(submission.spans, start=1):
        if definition.severities and span.severity is None:
            missing.append(f"choose the severity of span {number} (“{_short(span.text)}”)")
        if definition.spans.reason == "required" and not (span.reason or "").strip():
            missing.append(f"give a reason for span {number} (“{_short(span.text)}”)")
        missing += [
            f"answer “{attribute.label}” for span {number} (“{_short(span.text)}”)"
            for attribute in definition.spans.attributes
            # `or None`, because a required box counts as answered only when it is ticked.
            if attribute.required and _is_blank((span.attributes or {}).get(attribute.key) or None)
        ]
    if definition.spans.suggestions == "required":
        decided = {*submission.dismissed, *(span.suggestion for span in submission.spans)}
        missing += [
            f"accept, change or dismiss suggestion {suggestion.number} (“{_short(suggestion.span.text)}”)"
            for suggestion in suggestions
            if suggestion.number not in decided
        ]
    return missing


def _check_span(definition: CampaignDefinition, texts: ItemTexts, span: SubmittedSpan, name: str) -> None:
    category = definition.find_category(span.category)
    # `find_category` also accepts the name of a category, but spans are stored by its key.
    if category is None or category.key != span.category:
        known = ", ".join(entry.key for entry in definition.categories)
        raise InvalidInput(f"{name}: there is no category {span.category!r} (categories: {known})")
    if category.side not in ("both", span.side):
        raise InvalidInput(f"{name}: “{category.name}” is marked in the {category.side}, not in the {span.side}")
    text = _text_of(texts, span, name)
    if span.end > len(text) or span.start > span.end:
        raise InvalidInput(
            f"{name}: [{span.start}, {span.end}) does not lie in the text, which has {count_of(len(text), 'character')}"
        )
    if span.start == span.end and not definition.spans.omissions:
        raise InvalidInput(f"{name}: it is empty, and this campaign has no omission marks")
    # A page that shows another text, or that counts UTF-16 units in place of code points, would mark the wrong characters.
    if text[span.start : span.end] != span.text:
        raise TextMismatch(
            f"{name}: the text at [{span.start}, {span.end}) is {text[span.start : span.end]!r}, not {span.text!r}; "
            "the page shows another text than the one stored. Reload the page; nothing that was saved is lost"
        )
    if span.severity is not None and span.severity not in {level.key for level in definition.severities}:
        raise InvalidInput(f"{name}: there is no severity {span.severity!r}")
    if span.subcategory is not None and span.subcategory not in {sub.key for sub in category.subcategories}:
        raise InvalidInput(f"{name}: “{category.name}” has no subcategory {span.subcategory!r}")
    _check_attributes(definition, span, name)


def _check_attributes(definition: CampaignDefinition, span: SubmittedSpan, name: str) -> None:
    known = {attribute.key: attribute for attribute in definition.spans.attributes}
    for key, value in (span.attributes or {}).items():
        if key not in known:
            raise InvalidInput(
                f"{name}: the campaign asks for no attribute {key!r} (attributes: {', '.join(known) or 'none'})"
            )
        if problem := problem_with_attribute(known[key], value):
            raise InvalidInput(f"{name}: attributes.{key}: {problem}")


def _text_of(texts: ItemTexts, span: SubmittedSpan, name: str) -> str:
    if span.side == "source":
        text = texts.source.get(span.field or "")
        if text is None:
            raise InvalidInput(f"{name}: the source has no field {span.field!r}")
        return text
    if span.output >= len(texts.outputs):
        raise InvalidInput(
            f"{name}: the item has {len(texts.outputs)} output(s), counted from 0, so there is no {span.output}"
        )
    return texts.outputs[span.output]


def _check_together(definition: CampaignDefinition, texts: ItemTexts, spans: Sequence[SubmittedSpan]) -> None:
    exclusive = {category.key: category.name for category in definition.categories if category.exclusive}
    for number, span in enumerate(spans, start=1):
        if span.category in exclusive:
            if len(spans) > 1:
                raise InvalidInput(
                    f"span {number}: “{exclusive[span.category]}” stands alone; remove the other spans or this one"
                )
            if (span.start, span.end) != (0, len(_text_of(texts, span, f"span {number}"))):
                raise InvalidInput(f"span {number}: “{exclusive[span.category]}” covers the whole text")
    if definition.spans.overlap == "allow":
        return
    ordered = sorted(
        (
            (span.side, span.output, span.field or "", span.start, span.end, number)
            for number, span in enumerate(spans, start=1)
            # An omission mark shares no character.
            if span.start < span.end
        )
    )
    # Neighbours are enough: if any two of the sorted spans overlap, then so do two neighbours.
    for one, other in pairwise(ordered):
        if one[:3] == other[:3] and other[3] < one[4]:
            raise InvalidInput(f"spans {one[5]} and {other[5]} overlap, which this campaign does not allow")


def _check_decisions(suggestions: Sequence[ItemSuggestion], submission: Submission) -> None:
    known = {suggestion.number for suggestion in suggestions}
    named = [span.suggestion for span in submission.spans if span.suggestion is not None] + submission.dismissed
    for position, number in enumerate(named):
        if number not in known:
            raise InvalidInput(f"there is no suggestion {number} on this item, which has {len(known)}")
        if number in named[:position]:
            raise InvalidInput(f"suggestion {number} is decided on twice; a suggestion is one span, or dismissed")


def _is_blank(answer: Any) -> bool:
    return not answer.strip() if isinstance(answer, str) else answer in (None, [])


def _short(quote: str) -> str:
    return quote if len(quote) <= 40 else f"{quote[:39]}…"
