"""The offline annotator ``overlap``: it marks content words and numbers of the output that the source does not support.

It needs no key and no network, knows nothing of meaning, and is an honest baseline: what a language model is worth, it adds to this.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from spanplat.llm.item import AskedItem
from spanplat.llm.provider import Completion, Request

VERSION = "overlap-1"
SUPPORT = "source-overlap"
"""Key of the answer: share of the output's word forms that the source contains, from 0 to 1."""

_WORD = r"(?:[^\W\d_][\u0300-\u036f]*)+"  # an accent may stand as a character of its own, after its letter
_TOKEN = re.compile(rf"\d+(?:[.,:]\d+)*|{_WORD}(?:[’'-]{_WORD})*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_GAP = re.compile(r"[ \t]*[%°€$£]?[ \t]*")
_SHORTEST_CONTENT_WORD = 4
_STEM = 5

# English function words of four letters and more; shorter words never count as content.
_FUNCTION_WORDS = frozenset(
    re.findall(r"\w+", """
    about above after again against along also although among around away because been before behind being below between
    both cannot could does doing down during each either else ever every from further have having here hers herself
    himself however into itself just less like made make many more most much must myself neither nevertheless only other
    ours over past rather same shall should since some such than that their theirs them themselves then there therefore
    these they this those though through throughout thus together under until upon very were what when where whereas
    whether which while whom whose will with within without would your yours yourself
    """)
)  # fmt: skip


@dataclass(frozen=True)
class Token:
    """A word or number of a text."""

    start: int
    end: int
    form: str
    """Case-folded, without accents."""


class OverlapAnnotator:
    """Marks what the source does not support.

    Parameters
    ----------
    category
        Key of the category its spans get; without one it marks nothing, and only answers.
    """

    def __init__(self, category: str | None = None) -> None:
        self._category = category

    @property
    def name(self) -> str:
        """Identify the annotator."""
        return VERSION

    def body(self, request: Request) -> dict[str, Any]:
        """Name the annotator; nothing is sent anywhere."""
        del request
        return {"annotator": VERSION}

    async def complete(self, request: Request) -> Completion:
        """Annotate one item."""
        return self.annotate(request.item)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def annotate(self, item: AskedItem) -> Completion:
        """Annotate one item.

        Returns
        -------
        Completion
            Its text quotes each unsupported stretch with its occurrence; its answer is the share of supported word forms.
        """
        started = perf_counter()
        support = _Support(item.source)
        tokens = list(tokenize(item.text))
        annotations = []
        for start, end in _stretches(item.text, [token for token in tokens if not support.covers(token)]):
            quote = item.text[start:end]
            annotations.append(
                {
                    "reason": "These words or numbers do not occur in the source.",
                    "text": quote,
                    "category": self._category,
                    "occurrence": _occurrence(item.text, quote, start),
                }
            )
        text = json.dumps({"annotations": annotations if self._category else []}, ensure_ascii=False)
        answers = {SUPPORT: support.share(tokens)}
        return Completion(text, VERSION, {"content": text}, latency=perf_counter() - started, answers=answers)


def tokenize(text: str) -> Iterator[Token]:
    """Yield the words and numbers of a text."""
    for match in _TOKEN.finditer(text):
        yield Token(match.start(), match.end(), fold(match[0]))


def fold(word: str) -> str:
    """Reduce a word to the form it is compared by: case-folded, without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


class _Support:
    """The words and numbers of a source."""

    def __init__(self, source: Any) -> None:
        forms = [token.form for text in _texts(source) for token in tokenize(text)]
        self._forms = frozenset(forms)
        self._stems = frozenset(form[:_STEM] for form in forms if len(form) >= _STEM)
        self._numbers = frozenset(value for form in forms for value in _values(form))

    def covers(self, token: Token) -> bool:
        """Tell whether a token is supported; function words always are."""
        form = token.form
        if form[:1].isdigit():
            return form in self._forms or all(value in self._numbers for value in _values(form))
        if len(form) < _SHORTEST_CONTENT_WORD or form in _FUNCTION_WORDS or form in self._forms:
            return True
        return len(form) >= _STEM and form[:_STEM] in self._stems

    def share(self, tokens: Iterable[Token]) -> float | None:
        """Return the share of the distinct forms that stand in the source; None for a text without words."""
        forms = {token.form for token in tokens}
        return len(forms & self._forms) / len(forms) if forms else None


def _texts(source: Any) -> Iterator[str]:
    if isinstance(source, dict):
        for name, value in source.items():
            yield str(name)
            yield from _texts(value)
    elif isinstance(source, list):
        for value in source:
            yield from _texts(value)
    elif source is not None:
        yield str(source)


def _values(form: str) -> list[float]:
    """Return the numbers in a form, so that 4.20 meets 4.2 and 1,200 meets 1200."""
    return [float(match) for match in _NUMBER.findall(re.sub(r",(?=\d{3}\b)", "", form).replace(",", "."))]


def _stretches(text: str, tokens: Iterable[Token]) -> Iterator[tuple[int, int]]:
    """Join neighbouring tokens that only blanks or a unit sign part."""
    start = end = -1
    for token in tokens:
        if start >= 0 and _GAP.fullmatch(text, end, token.start):
            end = token.end
            continue
        if start >= 0:
            yield start, end
        start, end = token.start, token.end
    if start >= 0:
        yield start, end


def _occurrence(text: str, quote: str, start: int) -> int:
    """Count the occurrences of a quote before its place, without overlaps."""
    count, position = 0, text.find(quote)
    while 0 <= position < start:
        count += 1
        position = text.find(quote, position + len(quote))
    return count
