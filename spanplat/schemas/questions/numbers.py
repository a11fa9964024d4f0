"""Functions for answers that are numbers on a scale."""

import math
import re
from collections.abc import Sequence
from typing import Any

from spanplat.schemas.questions.question import Average

# A comma is a decimal comma only before one or two digits: "1,000" may be a thousand, so it is no number here.
_NUMBER = re.compile(r"[-−]?\d+(?:\.\d+|,\d{1,2}(?!\d))?")
# Text that may follow the number: its scale, and an explanation.
_AFTER_NUMBER = re.compile(
    r"\s*(?:(?:/|out of)\s*(?P<scale>\d+)|(?P<percent>%)|points?)?\s*(?:[.,;:(\[–—-]\s*(?!\d).*|$)",
    re.IGNORECASE | re.DOTALL,
)


def is_number(answer: Any) -> bool:
    """Tell whether a value is a number; a truth value is not, although Python counts it as an integer."""
    return isinstance(answer, (int, float)) and not isinstance(answer, bool)


def problem_with_number(answer: Any, lowest: float, highest: float, *, whole: bool) -> str | None:
    """Return the reason why a value is no number of a scale; None if it is one."""
    if not is_number(answer) or not math.isfinite(answer) or (whole and int(answer) != answer):
        return "must be a whole number" if whole else "must be a number"
    return None if lowest <= answer <= highest else f"must lie between {lowest:g} and {highest:g}"


def read_number(given: Any, most: float) -> float | None:
    """Return the number at the start of an answer; None for a range (``70-80``), another scale (``8/10``), and anything else.

    Parameters
    ----------
    given
        The model's answer.
    most
        Upper end of the scale, which may follow the number.
    """
    if isinstance(given, bool):
        return None
    if isinstance(given, (int, float)):
        # The comparison is false for NaN, too.
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


def average_of(answers: Sequence[Any], average: Average) -> float | None:
    """Return the average of the answers that are numbers; None if there are none."""
    numbers = [float(answer) for answer in answers if is_number(answer)]
    return average(numbers) if numbers else None


def scale_end(number: float, name: str) -> str:
    """Return an end of a scale with its label, for prompts."""
    return f"{number:g} ({name})" if name else f"{number:g}"
