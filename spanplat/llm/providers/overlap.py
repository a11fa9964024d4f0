"""Offline annotator ``overlap``. It marks content words and numbers of the output that the source does not support.

It needs no key and no network, and knows nothing about meaning. It is a baseline: a language model should do better.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem
from spanplat.llm.provider import ModelReply, Request
from spanplat.schemas.categories import Category
from spanplat.schemas.model_settings import ModelSettings

VERSION = "overlap-1"
SUPPORT = "source-overlap"
"""Key of the answer: the share of the output's word forms that the source contains, from 0 to 1."""

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
    """Annotator that marks words and numbers without support in the source.

    Parameters
    ----------
    category
        Key of the category of its spans. Without one, it marks nothing and only answers.
    """

    def __init__(self, category: str | None = None) -> None:
        self._category = category

    @classmethod
    def of(cls, settings: ModelSettings, categories: Sequence[Category] = ()) -> "OverlapAnnotator":
        """Return the annotator with the category of the settings, by default the first one.

        Raises
        ------
        InvalidInput
            If the settings name none of the categories.
        """
        wanted = settings.category
        if not wanted:
            return cls(categories[0].key if categories else None)
        for category in categories:
            if wanted == category.key or wanted.casefold() == category.name.casefold():
                return cls(category.key)
        raise InvalidInput(f"model.category is {wanted!r}, which is not one of the campaign's categories")

    @staticmethod
    def sent_limit(settings: ModelSettings) -> dict[str, Any]:
        """Return nothing, because nothing is sent."""
        del settings
        return {}

    sent_reasoning = sent_limit

    @staticmethod
    def sends_budget(settings: ModelSettings) -> bool:
        """Return False, because it does not reason."""
        del settings
        return False

    @property
    def name(self) -> str:
        """Identify the annotator."""
        return VERSION

    def body(self, request: Request) -> dict[str, Any]:
        """Return the name of the annotator as the body. Nothing is sent."""
        del request
        return {"annotator": VERSION}

    async def complete(self, request: Request) -> ModelReply:
        """Annotate one item."""
        return self.annotate(request.item)

    async def close(self) -> None:
        """Do nothing, because there are no connections."""

    def annotate(self, item: AskedItem) -> ModelReply:
        """Annotate one item.

        Returns
        -------
        ModelReply
            Its text quotes each unsupported passage with its occurrence. Its answer is the share of supported word forms.
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
                    # A quote may occur several times. Without its number, the reader of the reply would have to guess
                    # the place.
                    "occurrence": _occurrence(item.text, quote, start),
                }
            )
        text = json.dumps({"annotations": annotations if self._category else []}, ensure_ascii=False)
        answers = {SUPPORT: support.share(tokens)}
        return ModelReply(text, VERSION, {"content": text}, latency=perf_counter() - started, answers=answers)


def tokenize(text: str) -> Iterator[Token]:
    """Yield the words and numbers of a text."""
    for match in _TOKEN.finditer(text):
        yield Token(match.start(), match.end(), fold(match[0]))


def fold(word: str) -> str:
    """Return the form of a word for comparisons: case-folded, without accents."""
    # NFKD separates accents from their letters, so that they can be left out.
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


class _Support:
    """The words and numbers of a source."""

    def __init__(self, source: Any) -> None:
        forms = [token.form for text in _texts(source) for token in tokenize(text)]
        self._forms = frozenset(forms)
        self._stems = frozenset(form[:_STEM] for form in forms if len(form) >= _STEM)
        self._numbers = frozenset(value for form in forms for value in _values(form))

    def covers(self, token: Token) -> bool:
        """Return whether a token is supported. Function words always are."""
        form = token.form
        if form[:1].isdigit():
            return form in self._forms or all(value in self._numbers for value in _values(form))
        if len(form) < _SHORTEST_CONTENT_WORD or form in _FUNCTION_WORDS or form in self._forms:
            return True
        # Equal first letters stand for a stem: inflected forms of a word in the source count as supported.
        return len(form) >= _STEM and form[:_STEM] in self._stems

    def share(self, tokens: Iterable[Token]) -> float | None:
        """Return the share of the distinct forms that occur in the source, or None for a text without words."""
        forms = {token.form for token in tokens}
        return len(forms & self._forms) / len(forms) if forms else None


def _texts(source: Any) -> Iterator[str]:
    if isinstance(source, dict):
        for name, value in source.items():  # the names of fields count as support too
            yield str(name)
            yield from _texts(value)
    elif isinstance(source, list):
        for value in source:
            yield from _texts(value)
    elif source is not None:
        yield str(source)


def _values(form: str) -> list[float]:
    """Return the numbers in a form, so that 4.20 equals 4.2 and 1,200 equals 1200."""
    return [float(match) for match in _NUMBER.findall(re.sub(r",(?=\d{3}\b)", "", form).replace(",", "."))]


def _stretches(text: str, tokens: Iterable[Token]) -> Iterator[tuple[int, int]]:
    """Join neighbouring tokens with only blanks or a unit sign between them."""
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
    """Return the number of occurrences of a quote before its place, without overlaps."""
    # Counted as `locate_quote` counts, so that the number leads back to this place.
    count, position = 0, text.find(quote)
    while 0 <= position < start:
        count += 1
        position = text.find(quote, position + len(quote))
    return count
