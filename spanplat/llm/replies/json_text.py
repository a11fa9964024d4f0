"""Search for the answer's JSON in a reply with prose and fences: the last valid value, else the last that can be repaired."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import json_repair

How = Literal["json", "list without brackets", "repaired json"]
Accept = Callable[[Any], bool]
Item = dict[str, Any]

MOST_CHARACTERS = 1_000_000
"""Largest part of a reply that is searched."""
# Without this limit, a reply that consists of brackets would take quadratic time.
_MOST_ATTEMPTS = 500
_OPENS = re.compile(r"[\[{]")
# An object with a first key, also without or with wrong quotation marks, or a list of objects. Other brackets, such as
# [1] or {x}, belong to prose.
_BEGINS_ANSWER = re.compile(r"""\{\s*(?:["'“‘]|\w+\s*:)|\[\s*\{""")
_SEPARATOR = re.compile(r"[\s,;]*")
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PYTHON_WORD = re.compile(r"\b(?:None|True|False)\b")
_WORDS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class FoundJson:
    """The JSON value of a reply."""

    value: Any
    how: How
    start: int
    end: int
    """End of its place in the reply."""


@dataclass(frozen=True)
class JsonSearch:
    """Result of a search for JSON."""

    found: FoundJson | None
    cut_off: bool = False
    """Whether an answer begins and does not end."""
    rejected: Any = None
    """Last valid JSON value that does not have the shape of an answer."""


@dataclass(frozen=True)
class _Candidate:
    start: int
    end: int
    value: Any = None
    valid: bool = False
    closed: bool = True


def search_json(reply: str, accept: Accept, *, is_entry: Callable[[Any], bool], may_close: bool = False) -> JsonSearch:
    """Find the JSON value of a reply.

    Parameters
    ----------
    reply
        The reply without its reasoning.
    accept
        Function that returns whether a value has the shape of an answer.
    is_entry
        Function that returns whether a value is one entry of a list. Several entries with only white space and commas between them are
        a list without its brackets.
    may_close
        Whether to close an answer that lacks only its closing brackets. Allowed only if the model ended the reply itself.

    Returns
    -------
    JsonSearch
        The last valid top-level object or array with the shape of an answer. If there is none, the last one that can be repaired
        without adding or losing a word. An empty list counts only if no answer that can be repaired follows.
    """
    # The last value counts, because models often write drafts, or repeat the form of the prompt, before the answer.
    reply = _unpacked(reply)
    candidates = list(_candidates(reply[:MOST_CHARACTERS]))
    cut_off = any(not candidate.closed for candidate in candidates)
    rejected = None
    for number in range(len(candidates) - 1, -1, -1):
        candidate = candidates[number]
        if not candidate.valid:
            continue
        if is_entry(candidate.value) and (row := _row_ending(reply, candidates, number, is_entry)):
            return JsonSearch(row, cut_off)
        if accept(candidate.value):
            # An empty list may be a draft or a repeated form. A broken answer after it is then the real one.
            later = [one for one in candidates[number + 1 :] if not one.valid]
            if candidate.value == [] and (mended := _last_mended(reply, later, accept, may_close=may_close)):
                return mended
            return JsonSearch(FoundJson(candidate.value, "json", candidate.start, candidate.end), cut_off)
        rejected = candidate.value if rejected is None else rejected
    mended = _last_mended(reply, candidates, accept, may_close=may_close)
    return mended or JsonSearch(None, cut_off, rejected)


def _last_mended(reply: str, candidates: list[_Candidate], accept: Accept, *, may_close: bool) -> JsonSearch | None:
    """Return the last answer among the candidates that a repair makes valid."""
    for candidate in reversed(candidates):
        if not candidate.valid and (candidate.closed or may_close):
            value = _repaired(reply[candidate.start : candidate.end], closed=candidate.closed)
            if value is not None and accept(value):
                return JsonSearch(FoundJson(value, "repaired json", candidate.start, candidate.end))
    return None


def _unpacked(reply: str) -> str:
    """Return the content of a reply that is one JSON string, such as an object serialised twice. Return others unchanged."""
    whole = reply.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if not whole.startswith('"{') and not whole.startswith('"['):
        return reply
    try:
        inside = json.loads(whole, strict=False)
    except ValueError:
        return reply
    return inside if isinstance(inside, str) else reply


def _row_ending(
    reply: str, candidates: list[_Candidate], last: int, is_entry: Callable[[Any], bool]
) -> FoundJson | None:
    """Return the consecutive entries that end here, if there is more than one."""
    first = last
    while (
        first > 0
        and candidates[first - 1].valid
        and is_entry(candidates[first - 1].value)
        and _SEPARATOR.fullmatch(reply, candidates[first - 1].end, candidates[first].start)
    ):
        first -= 1
    if first == last:
        return None
    values = [candidate.value for candidate in candidates[first : last + 1]]
    return FoundJson(values, "list without brackets", candidates[first].start, candidates[last].end)


def _candidates(reply: str) -> Iterator[_Candidate]:
    """Yield the passages of a reply that are JSON, or look as if they were meant to be, from left to right."""
    # Not strict: models write line breaks within strings without escaping them.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_without_repeated_keys)
    position, attempts = 0, 0
    while (opening := _OPENS.search(reply, position)) and attempts < _MOST_ATTEMPTS:
        start = opening.start()
        try:
            value, end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            attempts += 1
            if not _BEGINS_ANSWER.match(reply, start):  # brackets of prose
                position = start + 1
                continue
            closing = _closing(reply, start)
            if closing is None:
                # All that follows lies inside these brackets, so the search ends.
                yield _Candidate(start, len(reply), closed=False)
                return
            yield _Candidate(start, closing)
            position = closing
        else:
            yield _Candidate(start, end, value, valid=True)
            position = end


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> Item:
    """Return an object. Two different values under one key are an error, because one of them would be lost."""
    made: Item = {}
    for key, value in pairs:
        if made.get(key, value) != value:
            raise ValueError(f"the key {key!r} occurs twice")
        made[key] = value
    return made


def _closing(reply: str, start: int) -> int | None:
    """Return the end of the brackets that open here, ignoring brackets in double quotes. Return None if they never close."""
    # Without respect for quotes as a second attempt: a quotation mark that is not escaped inverts what counts as quoted.
    return _balanced(reply, start, respect_quotes=True) or _balanced(reply, start, respect_quotes=False)


def _balanced(reply: str, start: int, *, respect_quotes: bool) -> int | None:
    depth, quoted, escaped = 0, False, False
    for position in range(start, len(reply)):
        character = reply[position]
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = quoted
        elif character == '"' and respect_quotes:
            quoted = not quoted
        elif not quoted and character in "[{":
            depth += 1
        elif not quoted and character in "]}":
            depth -= 1
            if depth == 0:
                return position + 1
    return None


def _repaired(piece: str, *, closed: bool) -> Any:
    """Repair broken JSON. Return None if that would add, lose or move a word, or close a value that was cut off."""
    piece = piece.rstrip().removesuffix("```").rstrip()
    if not closed and piece[-1:] not in ("]", "}"):
        return None
    try:
        value = json_repair.loads(piece, skip_json_loads=True)
        # json_repair guesses, and may drop or invent text. Its result counts only with the same words in the same order.
        return value if _words(piece) == _words(json.dumps(value)) else None
    # json_repair raises these on text that is far from JSON.
    except (ValueError, RecursionError, IndexError, KeyError, TypeError, AttributeError):
        return None


def _words(text: str) -> list[str]:
    """Return the ASCII words and numbers of a text in order, without escapes. Python's constants count as those of JSON."""
    # Only ASCII, because json.dumps writes all other characters as escapes, which _ESCAPE removes.
    text = _PYTHON_WORD.sub(lambda word: {"None": "null"}.get(word[0], word[0].lower()), text)
    return _WORDS.findall(_ESCAPE.sub(" ", text))
