"""A model's answers to questions about the whole item, as people's answers are stored."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from spanplat.schemas.questions import (
    AnyQuestion,
    CheckboxQuestion,
    ChoiceQuestion,
    ChoicesQuestion,
    LikertQuestion,
    NoErrorsQuestion,
    Option,
    PairQuestion,
    SliderQuestion,
    TextQuestion,
)
from spanplat.schemas.slug import slugify

Answer = bool | int | float | str | list[str]

_NUMBER = re.compile(r"[-−]?\d+(?:\.\d+|,\d{1,2}(?!\d))?")
# What may stand behind the number that answers: its scale, and an explanation.
_AFTER_NUMBER = re.compile(
    r"\s*(?:(?:/|out of)\s*(?P<scale>\d+)|(?P<percent>%)|points?)?\s*(?:[.,;:(\[–—-]\s*(?!\d).*|$)",
    re.IGNORECASE | re.DOTALL,
)
_YES = frozenset({"yes", "true", "1", "y", "ticked", "checked"})
_NO = frozenset({"no", "false", "0", "n", "unticked", "unchecked"})
_FIRST = frozenset(
    {"a", "1", "first", "text a", "text 1", "the first", "output a", "output 1", "response a", "response 1"}
)
_SECOND = frozenset(
    {"b", "2", "second", "text b", "text 2", "the second", "output b", "output 2", "response b", "response 2"}
)
_TIE = frozenset({"tie", "equal", "both", "neither", "none", "same", "no difference", "draw"})


def asked_questions(questions: Sequence[AnyQuestion]) -> list[AnyQuestion]:
    """Return the questions a model is asked; the box for "nothing to mark" follows from its spans."""
    return [question for question in questions if not isinstance(question, NoErrorsQuestion)]


def read_answer(question: AnyQuestion, given: Any) -> Answer | None:
    """Read one answer.

    Parameters
    ----------
    question
        What was asked.
    given
        What the model gave: text, a number, a list.

    Returns
    -------
    bool, int, float, str, list of str, or None
        As a person's answer is stored; None where it is no answer to this question (another option, a number outside the scale).
    """
    match question:
        case SliderQuestion():
            number = _number(given, question.maximum)
            return number if number is not None and question.minimum <= number <= question.maximum else None
        case LikertQuestion():
            number = _number(given, question.points)
            inside = number is not None and number == int(number) and 1 <= number <= question.points
            return int(number) if inside and number is not None else None
        case ChoiceQuestion():
            return _option(question.options, given)
        case ChoicesQuestion():
            chosen = (
                [_option(question.options, part) for part in given]
                if isinstance(given, list)
                else [_option(question.options, given)]
            )
            keys = [key for key in chosen if key is not None]
            return keys if len(keys) == len(chosen) and len(keys) >= question.minimum else None
        case CheckboxQuestion():
            return given if isinstance(given, bool) else _word(given, {True: _YES, False: _NO})
        case PairQuestion():
            return read_preference(question, given)
        case TextQuestion():
            return given[: question.max_length] if isinstance(given, str) else None
        case _:
            return None


def read_preference(question: PairQuestion, given: Any) -> str | None:
    """Read which of two texts is better: ``first``, ``second`` or, where the question allows it, ``tie``."""
    chosen: str | None = _word(given, {"first": _FIRST, "second": _SECOND, "tie": _TIE})
    return None if chosen == "tie" and not question.tie else chosen


def named_answers(questions: Sequence[AnyQuestion], given: Mapping[str, Any]) -> dict[str, Answer]:
    """Read answers given by key or wording of their question; those that cannot be read are left out."""
    forms = {slugify(str(name)): value for name, value in given.items()}
    answers = {}
    for question in questions:
        for name in (question.key, slugify(question.label)):
            if name in forms and (answer := read_answer(question, forms[name])) is not None:
                answers[question.key] = answer
                break
    return answers


def missing_answers(questions: Sequence[AnyQuestion], answers: Mapping[str, Any]) -> list[str]:
    """Name the questions that need an answer and have none."""
    return [
        question.label for question in asked_questions(questions) if question.required and question.key not in answers
    ]


def _number(given: Any, most: float) -> float | None:
    """Return the number an answer begins with; None for a range (``70-80``), another scale (``8/10``), and anything else."""
    if isinstance(given, bool):
        return None
    if isinstance(given, (int, float)):
        return float(given) if abs(given) < 1e12 else None
    if not isinstance(given, str):
        return None
    text = given.strip(" \t\n*_`\"'[]<>")
    found = _NUMBER.match(text)
    after = _AFTER_NUMBER.fullmatch(text, found.end()) if found else None
    if found is None or after is None:
        return None
    scale = after["scale"] or ("100" if after["percent"] else None)
    if scale is not None and (len(scale) > 9 or int(scale) != most):
        return None
    return float(found[0].replace(",", ".").replace("−", "-"))


def _option(options: Sequence[Option], given: Any) -> str | None:
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        return None
    form = slugify(str(given).strip(" \t\n*_`\"'[]().")) if str(given).strip() else ""
    return next((option.key for option in options if form in (option.key, slugify(option.label))), None)


def _word(given: Any, meanings: Mapping[Any, frozenset[str]]) -> Any:
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        return None
    words = " ".join(re.findall(r"\w+", str(given).casefold()))
    return next((meaning for meaning, forms in meanings.items() if words in forms), None)
