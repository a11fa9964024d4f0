"""The stand-in for a model provider as a process of its own, so that it does not share the interpreter with what is measured."""

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

KEY_VARIABLE = "OPENAI_API_KEY"


@dataclass(frozen=True)
class StandInProcess:
    """A stand-in that runs."""

    url: str

    def account(self) -> dict[str, Any]:
        """Return what it has served: calls, billed calls, tokens, cost, calls by prompt and proper answers by request."""
        with urllib.request.urlopen(f"{self.url}/ledger", timeout=30) as response:  # noqa: S310 (our own address)
            account: dict[str, Any] = json.load(response)
        return account


@contextlib.contextmanager
def standin(**options: Any) -> Iterator[StandInProcess]:
    """Run a stand-in: ``latency`` in seconds, and shares of calls by the kind of trouble they meet."""
    with _process(options) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield StandInProcess(process.stdout.readline().strip())
        finally:
            process.stdin.close()


def _process(options: Mapping[str, Any]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.standin", json.dumps(options)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
