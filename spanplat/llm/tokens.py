"""Rough number of tokens of a text. It is enough to estimate a price without downloading a model's vocabulary."""

from collections.abc import Iterable

from spanplat.llm.provider import Message

PER_MESSAGE = 4
"""Tokens around each message."""
CHARACTERS_PER_TOKEN = 3.6
"""Characters per token of ASCII text. English prose has more, JSON and numbers have fewer."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for 3.6 ASCII characters, one for each other character.

    Current tokenizers have about 4.2 English characters or 3 JSON characters per token, and about one token per character of Chinese,
    Japanese or Korean. The estimate tends to be too high.

    >>> estimate_tokens("It rains in Brno."), estimate_tokens("雨が降る"), estimate_tokens("")
    (5, 4, 0)
    """
    # In whole numbers, because a division of floats could round a whole result up to the next number.
    ascii_characters = sum(character.isascii() for character in text)
    return -(-ascii_characters * 10 // round(CHARACTERS_PER_TOKEN * 10)) + len(text) - ascii_characters


def estimate_messages(messages: Iterable[Message]) -> int:
    """Estimate the tokens of a conversation."""
    return sum(estimate_tokens(message.content) + PER_MESSAGE for message in messages)
