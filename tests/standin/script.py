"""What the stand-in is asked, and what it can be told to do."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

NOTHING_MARKED = '{"annotations": []}'
PRICE_IN, PRICE_OUT = 2.0, 8.0
"""US dollars for a million tokens, as the stand-in bills them."""
BATCH_SHARE = 0.5
"""Share of these prices that batches cost."""


@dataclass(frozen=True)
class Call:
    """One request for a completion."""

    number: int
    """Counted from 1."""
    attempt: int
    """Which request with this very body, counted from 1."""
    interface: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    prompt: str
    """All messages, joined."""


@dataclass(frozen=True)
class Reply:
    """A proper answer."""

    text: str = NOTHING_MARKED
    reasoning: str = ""
    finish: str = "stop"
    """``stop``, ``length`` or ``refusal``."""
    tokens: tuple[int, int, int] | None = None
    """Input, output with reasoning, reasoning; counted from the words where not given."""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """An error in the provider's form."""

    status: int
    message: str = "something is wrong"
    code: str = "error"
    headers: Mapping[str, str] = field(default_factory=dict)
    within: bool = False
    """Whether it comes in the middle of a stream that began well, where a stream is asked for."""


@dataclass(frozen=True)
class Cut:
    """A reply that breaks off in the middle."""

    politely: bool = False
    """Whether a stream ends as if it were whole, and not with the connection."""


@dataclass(frozen=True)
class Hang:
    """No answer until the stand-in is told to let go, and then a closed connection."""


@dataclass(frozen=True)
class Hold:
    """A proper answer, once the stand-in is told to let go."""

    reply: Reply = field(default_factory=Reply)


@dataclass(frozen=True)
class Raw:
    """Any bytes as the body of a 200."""

    body: str
    content_type: str = "application/json"


Answer = Reply | Trouble | Cut | Hang | Hold | Raw
Script = Callable[[Call], Answer]


def always(answer: Answer) -> Script:
    """Answer everything alike."""
    return lambda _: answer


@dataclass
class Ledger:
    """What the stand-in has served and bills for."""

    calls: list[Call] = field(default_factory=list)
    billed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """US dollars."""
    attempts: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    """Proper answers by digest of the request's body."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, interface: str, body: Mapping[str, Any], headers: Mapping[str, str], prompt: str) -> Call:
        """Note a request."""
        with self.lock:
            key = digest(body)
            self.attempts[key] += 1
            call = Call(len(self.calls) + 1, self.attempts[key], interface, body, headers, prompt)
            self.calls.append(call)
        return call

    def bill(self, call: Call, reply: Reply, share: float = 1.0) -> tuple[int, int, int]:
        """Count the tokens of a proper answer at a share of the price, and return them: input, output, reasoning."""
        thought = len(reply.reasoning.split())
        tokens = reply.tokens or (len(call.prompt.split()), len(reply.text.split()) + thought, thought)
        with self.lock:
            self.billed += 1
            self.input_tokens += tokens[0]
            self.output_tokens += tokens[1]
            self.cost += share * (tokens[0] * PRICE_IN + tokens[1] * PRICE_OUT) / 1e6
            self.answered[digest(call.body)] += 1
        return tokens

    def totals(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        with self.lock:
            return {
                "calls": len(self.calls),
                "billed": self.billed,
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
                "cost": self.cost,
                "answered": dict(self.answered),
                "prompts": dict(Counter(call.prompt for call in self.calls)),
            }


def digest(body: Mapping[str, Any]) -> str:
    """Return the digest of a request."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
