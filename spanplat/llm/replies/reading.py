"""Parsing of one reply of a model, from raw text to spans in the stored text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanplat.llm.item import AskedItem
from spanplat.llm.replies.answers import asked_questions, missing_answers, named_answers
from spanplat.llm.replies.entries import InvalidEntry, is_answer, is_entry, read_entries
from spanplat.llm.replies.json_text import JsonSearch, search_json
from spanplat.llm.replies.lines import GaugeReply, read_choices, read_errors, read_gauge, read_ratings
from spanplat.llm.replies.placement import place_spans, quote_of
from spanplat.llm.replies.reasoning import ReplyParts, separate_reasoning
from spanplat.llm.replies.unreadable import REFUSED, UnreadableReply
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.model_settings import ModelSettings
from spanplat.schemas.prompt_settings import PromptSettings, ReplyForm
from spanplat.schemas.questions import Answer, ChoiceQuestion, NoErrorsQuestion, PairQuestion, TextQuestion
from spanplat.schemas.reply import QuotedSpan
from spanplat.schemas.span import MarkedSpan
from spanplat.schemas.unplaced import UnplacedRecord
from spanplat.text.storable import make_storable, make_storable_text

CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete", "model_context_window_exceeded"})
"""Finish reasons, in the words of the providers, of a reply that a limit ended and not the model."""
GAUGE_SEVERITIES = frozenset({"1", "2", "3", "4", "5", "neutral", "minor", "major", "critical"})
_REFUSALS = frozenset({"refusal", "content_filter", "safety", "prohibited_content"})

_FENCE = re.compile(r"^```[\w-]*\s*$", re.MULTILINE)
_REFUSAL = re.compile(
    r"\b(?:I|we)(?:['’]m| am| are)(?: \w+)? (?:sorry|unable|not able|not comfortable)\b"
    r"|\b(?:I|we) (?:can(?:no|['’])t|can not|won['’]t|will not|must decline|have to decline)\b"
    r"|\bas an AI\b|\bunable to (?:assist|comply|help|process|provide|fulfil)"
    r"|\b(?:lo siento|no puedo|es tut mir leid|ich kann (?:das|dabei|diese)|désolé|je ne peux pas|omlouvám se|nemohu)\b"
    r"|抱歉|无法|申し訳|できません",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ParsedReply:
    """Content of a reply: spans, answers, reasoning and remarks."""

    spans: Sequence[MarkedSpan] = ()
    unplaced: Sequence[UnplacedRecord] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Answers by key of the question."""
    reasoning: str = ""
    how: str = ""
    """Form in which the answer was found: ``json``, ``repaired json``, ``list without brackets``, ``lines``."""
    remarks: Mapping[str, Any] = field(default_factory=dict)
    """Further content of the reply besides spans and answers, and its contradictions."""

    @property
    def extra(self) -> dict[str, Any]:
        """Data to store with the annotation: reasoning, remarks, and the form of the answer if it was unusual."""
        plain = self.how in ("json", "lines", "")
        kept = {"reasoning": self.reasoning, "remarks": dict(self.remarks), "read_as": "" if plain else self.how}
        return {name: value for name, value in kept.items() if value}


def read_reply(
    content: str,
    definition: CampaignDefinition,
    item: AskedItem,
    *,
    finish_reason: str = "stop",
    reasoning: str = "",
    refusal: str | None = None,
) -> ParsedReply:
    """Parse one reply.

    Parameters
    ----------
    content
        Text of the reply as received.
    definition
        Definition of the campaign, which says what was asked and in which form.
    item
        Item of the request.
    finish_reason
        Reason for the end of the reply, from the provider.
    reasoning
        The reasoning, if the provider separates it.
    refusal
        Message of the provider instead of an answer, if there is one.

    Returns
    -------
    ParsedReply
        All its spans have a place in the stored texts. Quotes without a place are under ``unplaced``, with the reason.

    Raises
    ------
    UnreadableReply
        If it contains no answer. Then the call has failed, and nothing is known about the text.
    """
    if refusal or finish_reason.casefold() in _REFUSALS:
        raise UnreadableReply(
            "refusal", f"{REFUSED}: {_shortened(make_storable_text(refusal or content or finish_reason))}"
        )
    content, reasoning = make_storable_text(content), make_storable_text(reasoning)
    cut = finish_reason.casefold() in CUT_OFF
    parts = separate_reasoning(content)
    settings = definition.model or PromptSettings()
    form = settings.reply_form
    try:
        reading = _READERS[form](_answer_part(parts, form, cut), definition, item, settings, cut)
    except UnreadableReply as problem:
        raise _explained(problem, content, parts, cut=cut) from problem
    if form != "errors":  # a consolidator is asked no questions; its answers are those of the members
        _require_answers(definition, reading)
    thoughts = "\n\n".join(part for part in (reasoning.strip(), parts.reasoning) if part)
    answers = {**reading.answers, **_nothing_to_mark(definition, reading)}
    return ParsedReply(reading.spans, reading.unplaced, answers, thoughts, reading.how, reading.remarks)


def _answer_part(parts: ReplyParts, form: ReplyForm, cut: bool) -> str:
    """Return the part of a reply with the answer. After a reasoning tag that is never closed, it must be at the very end."""
    if parts.answer or cut or form != "spans":
        return parts.answer
    search = search_json(parts.unclosed, is_answer, is_entry=is_entry)
    at_end = search.found and not _FENCE.sub("", parts.unclosed[search.found.end :]).strip(" \n`.")
    return parts.unclosed[search.found.start :] if search.found and at_end else ""


def _explained(problem: UnreadableReply, content: str, parts: ReplyParts, *, cut: bool) -> UnreadableReply:
    """Return the best reason why a reply is no answer: it was cut off, it is empty, or it refuses."""
    # The order matters: a reply that was cut off may also be empty or have the wrong shape, but only the limit explains it.
    if cut:
        return UnreadableReply("cut off", "the reply was cut off at its token limit; raise max_tokens")
    if not content.strip():
        return UnreadableReply("empty", "the reply is empty")
    if not parts.answer.strip():
        return UnreadableReply("empty", "the reply holds only reasoning and no answer")
    # Searched only in replies without an answer: an annotation may quote a text with such words.
    if problem.kind != "cut off" and _REFUSAL.search(parts.answer):
        return UnreadableReply("refusal", f"{REFUSED}: {_shortened(parts.answer)}")
    return problem


def _read_spans(
    reply: str, definition: CampaignDefinition, item: AskedItem, settings: PromptSettings, cut: bool
) -> ParsedReply:
    search = search_json(reply, is_answer, is_entry=is_entry, may_close=not cut)
    found = search.found
    # JSON found before a limit ended the reply may be a draft. The real answer is then the part that was cut off.
    if found is None or (cut and search.cut_off):
        raise _nothing_found(search)
    entries = read_entries(make_storable(found.value))
    spans, unplaced = _placed(entries.spans, definition, item, settings)
    answers = named_answers(asked_questions(definition.questions), entries.answers)
    return ParsedReply(spans, unplaced, answers, how=found.how)


def _nothing_found(search: JsonSearch) -> UnreadableReply:
    if search.cut_off:
        return UnreadableReply("cut off", "the reply ends before its JSON does")
    if search.rejected is not None:
        return UnreadableReply("wrong shape", "the reply's JSON has no list of spans")
    return UnreadableReply("no answer", "the reply holds no JSON with a list of spans")


def _read_gauge(
    reply: str, definition: CampaignDefinition, item: AskedItem, settings: PromptSettings, cut: bool
) -> ParsedReply:
    gauge = read_gauge(reply)
    if cut:
        raise UnreadableReply("cut off", "the reply was cut off")
    highest = settings.gauge.labels[-1]
    score = settings.gauge.score_of(gauge.label)
    if score is None:
        raise UnreadableReply(
            "wrong shape", f"{_shortened(gauge.label)!r} is none of the labels {', '.join(settings.gauge.labels)}"
        )
    is_highest = score == settings.gauge.score_of(highest)
    if not gauge.spans and not gauge.says_no_error and not is_highest:
        raise UnreadableReply("no answer", "the reply names no error, and does not say that there is none")
    aspect = item.aspect if any(entry.key == item.aspect for entry in definition.categories) else None
    quotes = [
        quote.model_copy(
            update={
                "category": quote.category or aspect or "",
                "severity": _gauge_severity(quote.severity, definition),
            }
        )
        for quote in gauge.spans
    ]
    spans, unplaced = _placed(quotes, definition, item, settings)
    answers, remarks = _gauge_answers(gauge, score, definition)
    unknown = [
        mark.severity for mark, quote in zip(gauge.spans, quotes, strict=True) if mark.severity != quote.severity
    ]
    if unknown:
        remarks["unknown_severities"] = ", ".join(str(severity) for severity in unknown)
    if is_highest and gauge.spans:
        remarks["contradiction"] = f"errors, and yet {highest}"
    elif not is_highest and not gauge.spans:
        remarks["contradiction"] = f"no error, and yet not {highest}"
    return ParsedReply(spans, unplaced, answers, how="lines", remarks=remarks)


def _gauge_severity(given: str | None, definition: CampaignDefinition) -> str | None:
    """Return a severity that gauge knows, else None. If the campaign has its own scale, placement decides later."""
    known = given is None or given.casefold() in GAUGE_SEVERITIES
    return given if known or definition.severities else None


def _gauge_answers(
    gauge: GaugeReply, score: int, definition: CampaignDefinition
) -> tuple[dict[str, Answer], dict[str, str]]:
    """Return the score as the answer to the first question on a scale, and its reason as that to the first text question."""
    answers: dict[str, Answer] = {}
    remarks = {"label": gauge.label.strip(" *_`\"'.")}
    scale = next((q for q in definition.questions if q.scale is not None or isinstance(q, ChoiceQuestion)), None)
    if scale is not None:
        answer = scale.read(remarks["label"] if isinstance(scale, ChoiceQuestion) else score)
        if answer is None:
            raise UnreadableReply("wrong shape", f"{_shortened(gauge.label)!r} is no answer to {scale.label!r}")
        answers[scale.key] = answer
    else:
        remarks["score"] = str(score)
    text = next((question for question in definition.questions if isinstance(question, TextQuestion)), None)
    if gauge.reason and text is not None:
        answers[text.key] = gauge.reason[: text.max_length]
    elif gauge.reason:
        remarks["reason"] = gauge.reason
    return answers, remarks


def _read_ratings(
    reply: str, definition: CampaignDefinition, item: AskedItem, settings: PromptSettings, cut: bool
) -> ParsedReply:
    del item, settings
    questions = asked_questions(definition.questions)
    search = search_json(reply, lambda value: _answers_all(questions, value), is_entry=lambda _: False)
    # An object that answers every required question is complete, even if a limit ended the reply after it.
    if search.found is not None:
        return ParsedReply(answers=named_answers(questions, make_storable(search.found.value)), how=search.found.how)
    if cut:
        raise UnreadableReply("cut off", "the reply was cut off")
    return ParsedReply(answers=read_ratings(reply, questions), how="lines")


def _answers_all(questions: Sequence[Any], value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and not missing_answers(questions, named_answers(questions, value))


def _read_choice(
    reply: str, definition: CampaignDefinition, item: AskedItem, settings: PromptSettings, cut: bool
) -> ParsedReply:
    del item, settings
    questions = [question for question in definition.questions if isinstance(question, PairQuestion)]
    if cut:
        raise UnreadableReply("cut off", "the reply was cut off")
    return ParsedReply(answers=read_choices(reply, questions), how="lines")


def _read_errors(
    reply: str, definition: CampaignDefinition, item: AskedItem, settings: PromptSettings, cut: bool
) -> ParsedReply:
    quotes = read_errors(reply)
    if cut:
        raise UnreadableReply("cut off", "the reply was cut off")
    spans, unplaced = _placed(quotes, definition, item, settings)
    scale = {level.key: place for place, level in enumerate(definition.severities)}
    # The sort is stable, so among equals the first stay first. An unknown severity counts as the mildest.
    by_severity = sorted(spans, key=lambda span: -scale.get(span.severity or "", -1))
    # By identity, because two equal spans are two errors.
    kept = {id(span) for span in by_severity[: settings.most_errors]}
    beyond = [
        UnplacedRecord(
            {"text": quote_of(span), "category": span.category},
            f"it is not among the {settings.most_errors} most severe",
        )
        for span in spans
        if id(span) not in kept
    ]
    remaining = [span for span in by_severity if id(span) in kept]
    return ParsedReply(remaining, [*unplaced, *beyond], item.answers, how="lines", remarks=item.remarks)


_READERS = {
    "spans": _read_spans,
    "gauge": _read_gauge,
    "ratings": _read_ratings,
    "choice": _read_choice,
    "errors": _read_errors,
}


def _placed(
    quotes: Sequence[QuotedSpan | InvalidEntry],
    definition: CampaignDefinition,
    item: AskedItem,
    settings: PromptSettings,
) -> tuple[list[MarkedSpan], list[UnplacedRecord]]:
    placed = place_spans(quotes, definition, item, placement=settings.placement, fuzzy=settings.fuzzy)
    return [span for span in placed if isinstance(span, MarkedSpan)], [
        span for span in placed if isinstance(span, UnplacedRecord)
    ]


def _require_answers(definition: CampaignDefinition, reading: ParsedReply) -> None:
    """Raise an error if a reply leaves a required question open. The offline annotator is not asked any."""
    model = definition.model
    if isinstance(model, ModelSettings) and model.is_offline:
        return
    missing = missing_answers(definition.questions, reading.answers)
    if missing:
        raise UnreadableReply("wrong shape", f"the reply does not answer {missing[0]!r}")


def _nothing_to_mark(definition: CampaignDefinition, reading: ParsedReply) -> dict[str, bool]:
    """Return the answers to the boxes "nothing to mark", as a person would tick them."""
    # A quote without a place is still an error that the model found.
    nothing = not reading.spans and not reading.unplaced
    return {question.key: nothing for question in definition.questions if isinstance(question, NoErrorsQuestion)}


def _shortened(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else f"{words[:199]}…"
