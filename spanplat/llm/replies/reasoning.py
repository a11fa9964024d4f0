"""Separation of a model's reasoning from its answer."""

import re
from typing import NamedTuple

_NAMES = "think|thinking|thought|thoughts|reasoning|scratchpad|reflection"
_TAG = re.compile(rf"<(?P<closes>/?)(?:{_NAMES})>", re.IGNORECASE)


class ReplyParts(NamedTuple):
    """A reply in its parts."""

    reasoning: str
    answer: str
    unclosed: str = ""
    """Text after an opening tag that is never closed. It is reasoning, unless the answer is at its very end."""


def separate_reasoning(reply: str) -> ReplyParts:
    """Remove ``<think>…</think>`` from a reply.

    A closing tag without an opening one ends reasoning that began before the reply, because some servers open the tag themselves.
    After an opening tag without a closing one, everything is reasoning.

    >>> separate_reasoning("<think>Hm.</think>[]").answer, separate_reasoning("Hm.</think>[]").answer
    ('[]', '[]')
    >>> separate_reasoning("<think>Hm, is it")
    ReplyParts(reasoning='Hm, is it', answer='', unclosed='Hm, is it')
    """
    thoughts: list[str] = []
    answer: list[str] = []
    inside, position = False, 0
    for tag in _TAG.finditer(reply):
        before, position = reply[position : tag.start()], tag.end()
        if inside:
            thoughts.append(before)
            inside = not tag["closes"]
        elif tag["closes"]:
            thoughts.extend([*answer, before])
            answer = []
        else:
            answer.append(before)
            inside = True
    rest = reply[position:]
    (thoughts if inside else answer).append(rest)
    reasoning = "\n\n".join(stripped for thought in thoughts if (stripped := thought.strip()))
    return ReplyParts(reasoning, "".join(answer).strip(), rest if inside else "")
