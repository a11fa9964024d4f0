"""Functions for answers that are one of a few words."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

Meaning = TypeVar("Meaning")


def read_word(given: Any, meanings: Mapping[Meaning, frozenset[str]]) -> Meaning | None:
    """Return the meaning of a word in a model's answer; None if the word is unknown."""
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        return None
    words = " ".join(re.findall(r"\w+", str(given).casefold()))
    return next((meaning for meaning, forms in meanings.items() if words in forms), None)


def majority(answers: Sequence[Any]) -> Any:
    """Return the answer of more than half; None if there is no such answer."""
    answer, votes = Counter(answers).most_common(1)[0]
    return answer if 2 * votes > len(answers) else None
