"""Parsing of replies in labelled lines: errors with an overall label, ``Criterion: number``, and ``Best:``/``Worst:``."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spanplat.llm.replies.unreadable import UnreadableReply
from spanplat.schemas.questions import Answer, AnyQuestion, PairQuestion
from spanplat.schemas.reply import QuotedSpan
from spanplat.schemas.slug import slugify

# A label with marks of a list, a number or Markdown around it, then a colon. The full-width colon is that of Chinese
# and Japanese replies.
_LINE = re.compile(
    r"^[\s>*_#\-–•|`]*(?:\(?\d+[.)]\s*)?[*_`]*(?P<name>[^:：=\n]{1,200}?)[*_`\s]*[:：=][*_`\s]*(?P<value>.*)$"
)
_ERROR = re.compile(r"^[\s>*_#\-•`]*(?:error|issue)\s*(?:no\.?\s*|#\s*)?\d+\b[*_`\s]*[:：.)-]?[*_`\s]*$", re.IGNORECASE)
_NO_ERROR = re.compile(
    r"^[\s>*_#\-•`\"']*(?:errors?\s*[:：]\s*)?[*_`\s]*"
    r"(?:no[ -]?errors?(?: (?:(?:was|were|is|are) )?(?:found|identified|detected|present))?|none)[\s*_`.!\"']*$",
    re.IGNORECASE,
)
_PARTS = {
    "location": "text", "quote": "text", "span": "text", "passage": "text", "text": "text",
    "explanation": "reason", "reason": "reason", "description": "reason", "context": "context",
    "severity": "severity", "category": "category", "type": "category", "aspect": "category",
}  # fmt: skip
_OVERALL = re.compile(
    r"^(?:overall|final)(?: (?:label|score|rating|quality|judge?ment|assessment|evaluation|verdict))?$|^(?:label|score|rating)$"
)
_NUMBERED_ERROR = re.compile(r"(?:error|issue) ?#?\d+")
_REASONS = ("reason", "explanation", "justification", "rationale")
_WORD = re.compile(r"\w+")


@dataclass
class GaugeReply:
    """Errors under one aspect, and the overall judgement."""

    spans: list[QuotedSpan] = field(default_factory=list)
    label: str = ""
    """Overall label or score, as given."""
    reason: str | None = None
    says_no_error: bool = False


def read_gauge(reply: str) -> GaugeReply:
    """Read errors with location, explanation and severity, then an overall label with its reason.

    Raises
    ------
    UnreadableReply
        If there is no overall label.
    """
    found = _read_blocks(reply)
    if not found.label.strip():
        raise UnreadableReply("no answer", "the reply gives no overall label")
    return found


def read_errors(reply: str) -> list[QuotedSpan]:
    """Read errors with location, explanation and severity, or the line ``No Error``.

    Raises
    ------
    UnreadableReply
        If there is neither.
    """
    found = _read_blocks(reply)
    if not found.spans and not found.says_no_error:
        raise UnreadableReply("no answer", "the reply names no error, and does not say that there is none")
    return found.spans


def _read_blocks(reply: str) -> GaugeReply:
    reader = _GaugeReader()
    for line, name, value in _labelled(reply):
        reader.read(line, name, value)
    reader.finish()
    return reader.found


class _GaugeReader:
    """Reader that goes line by line. A line without a label continues the part before it."""

    def __init__(self) -> None:
        self.found = GaugeReply()
        self._parts: dict[str, str] = {}
        self._current: str | None = None
        self._in_overall = False
        self._in_error = False

    def read(self, line: str, name: str | None, value: str) -> None:
        if _ERROR.match(line) or (name and _NUMBERED_ERROR.fullmatch(name)):
            self.finish()
            self._in_overall, self._current, self._in_error = False, None, True
            if _NO_ERROR.match(value) and value:
                self.found.says_no_error, self._in_error = True, False
            elif value:
                self._set("text", value)
        elif _NO_ERROR.match(line):
            self.found.says_no_error, self._current = True, None
        elif name and _OVERALL.match(name):
            self.finish()
            self._in_overall, self._current, self.found.label = True, "label", value
        # After the overall label, a reason explains the label and not the last error.
        elif self._in_overall and name in _REASONS:
            self._current, self.found.reason = "overall reason", value
        elif not self._in_overall and name in _PARTS:
            # A second location begins the next error, also in replies without numbered headings.
            if _PARTS[name] == "text" and ("text" in self._parts or not self._in_error):
                self.finish()
            self._set(_PARTS[name], value)
        elif line.strip():
            self._continue(line.strip())

    def finish(self) -> None:
        """Keep the error read so far, also without a location. Such an error will have no place."""
        if "text" in self._parts or (self._in_error and self._parts):
            self.found.spans.append(QuotedSpan.model_validate({"category": "", "text": "", **self._parts}))
            self._in_error = False
        self._parts.clear()

    def _set(self, part: str, value: str) -> None:
        # Models add explanations after the severity, so only its first word counts.
        word = _WORD.search(value) if part == "severity" else None
        self._parts[part] = word[0] if word else _unquoted(value)
        self._current = part

    def _continue(self, line: str) -> None:
        match self._current:
            case "label":  # the label is on the line below its name
                self.found.label = self.found.label or line
            case "overall reason":
                self.found.reason = f"{self.found.reason}\n{line}".strip()
            case "text" if not self._parts["text"]:
                self._parts["text"] = _unquoted(line)
            case "text" | "reason" as part:
                self._parts[part] = f"{self._parts[part]}\n{line}".strip()
            case _:
                pass


def read_ratings(reply: str, questions: Sequence[AnyQuestion]) -> dict[str, Answer]:
    """Read lines of the form ``Criterion: number``. The last line of a criterion counts.

    Raises
    ------
    UnreadableReply
        If a required answer is missing or not valid (outside the scale, a range).
    """
    names = {form: question for question in questions for form in (question.key, slugify(question.label))}
    answers: dict[str, Answer] = {}
    wrong: dict[str, str] = {}
    previous: AnyQuestion | None = None
    for line, name, beside in _labelled(reply):
        question, value = names.get(slugify(name)) if name and name.strip() else None, beside
        if question is None and previous is not None and previous.key not in answers and line.strip():
            question, value = previous, line.strip()  # the number stands on the line below
        previous = question
        if question is None or not value:
            continue
        answer = question.read(value)
        if answer is None:
            wrong[question.key] = value
        else:
            answers[question.key] = answer
            wrong.pop(question.key, None)
    for question in questions:
        if question.required and question.key not in answers:
            if question.key in wrong:
                raise UnreadableReply("wrong shape", f"{wrong[question.key][:80]!r} is no answer to {question.label!r}")
            raise UnreadableReply("no answer", f"the reply does not answer {question.label!r}")
    return answers


def read_choices(reply: str, questions: Sequence[PairQuestion]) -> dict[str, Answer]:
    """Read ``Best:`` and ``Worst:`` lines. If there are several criteria, they are below the name of their criterion.

    Raises
    ------
    UnreadableReply
        If a criterion has no best, or best and worst are the same text.
    """
    names = {form: question for question in questions for form in (question.key, slugify(question.label))}
    current = questions[0] if len(questions) == 1 else None
    given: dict[str, dict[str, Any]] = {question.key: {} for question in questions}
    # A heading without a colon sets the criterion too, so any line that is the name of one counts.
    for line, name, value in _labelled(reply):
        role = slugify(name) if name and name.strip() else ""
        if role in ("best", "better", "worst", "worse"):
            if current is not None:
                given[current.key]["best" if role in ("best", "better") else "worst"] = _unquoted(value)
            continue
        # A criterion is named after "Criterion:", before a colon, or on a line of its own.
        heading = value if role in ("criterion", "question") else (name or "") if not value else line
        bare = heading.strip(" \t*_#:`\"'")
        current = names.get(slugify(bare), current) if bare else current
    return {question.key: _choice(question, given[question.key]) for question in questions}


def _choice(question: PairQuestion, given: dict[str, Any]) -> str:
    if "best" not in given:
        raise UnreadableReply("no answer", f"the reply names no best text for {question.label!r}")
    best = question.read(given["best"])
    if best is None:
        raise UnreadableReply("wrong shape", f"{given['best'][:80]!r} is no answer to {question.label!r}")
    worst = question.read(given["worst"]) if "worst" in given else None
    if "worst" in given and worst is None:
        raise UnreadableReply("wrong shape", f"{given['worst'][:80]!r} is no answer to {question.label!r}")
    # A reply that calls only one of the two a tie contradicts itself.
    if worst is not None and (worst == "tie") != (best == "tie"):
        raise UnreadableReply("wrong shape", f"the reply calls it a tie and no tie for {question.label!r}")
    if worst == best and best != "tie":
        raise UnreadableReply("wrong shape", f"the reply calls one text both best and worst for {question.label!r}")
    return best


def _labelled(reply: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield every line with its label (in lower case, without marks) and the text after the label."""
    for line in reply.splitlines():
        match = _LINE.match(line)
        if match:
            yield (
                line,
                " ".join(match["name"].strip(" *_`\"'").casefold().split()),
                match["value"].strip().removesuffix("**").strip(),
            )
        else:
            yield line, None, ""


def _unquoted(value: str) -> str:
    """Return a value without the quotation marks around it."""
    bare = value.strip()
    pairs = {'"': '"', "“": "”", "'": "'", "`": "`", "«": "»", "„": "“"}
    return bare[1:-1] if len(bare) > 2 and pairs.get(bare[0]) == bare[-1] else bare
