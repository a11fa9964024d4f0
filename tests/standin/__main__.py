"""The stand-in as a process of its own: it prints its address, and serves until its input closes.

python -m tests.standin '{"latency": 0.2, "429": 0.1, "500": 0.05, "hang": 0.02, "garbage": 0.02}'
"""

import json
import random
import sys
from collections.abc import Mapping

from tests.standin.script import Answer, Call, Hang, Reply, Script, Trouble
from tests.standin.server import StandIn


def troubled(shares: Mapping[str, float], seed: int = 42) -> Script:
    """Answer most calls, and the given shares of them with trouble."""
    rng = random.Random(seed)  # noqa: S311
    answers: dict[str, Answer] = {
        "429": Trouble(429, "slow down", "rate_limit", {"retry-after-ms": "50"}),
        "500": Trouble(500),
        "hang": Hang(),
        "garbage": Reply("Sure! I would love to help."),
    }

    def answer(call: Call) -> Answer:
        del call
        lot = rng.random()
        for name, trouble in answers.items():
            lot -= shares.get(name, 0.0)
            if lot < 0:
                return trouble
        return Reply()

    return answer


if __name__ == "__main__":
    options = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    with StandIn(troubled(options), latency=options.get("latency", 0.0)) as server:
        print(server.url, flush=True)
        sys.stdin.read()
