"""Statements about seats are the same in whatever order and in however many threads they are built."""

import subprocess
import sys

import pytest

SCRIPT = """
import importlib, sys, threading, warnings
from sqlalchemy.exc import SAWarning
from spanplat.services.crowd import seats

warnings.simplefilter("error", SAWarning)
sys.setswitchinterval(1e-6)
built = set()

def build(together, person):
    together.wait()
    built.add((str(seats._taking(False, False, ())), str(seats._batches_wanting_more(person, 1))))

for _ in range(20):
    importlib.reload(seats)  # as in a process that has just started
    together, person = threading.Barrier(8), seats._Person(1, 1, ())
    threads = [threading.Thread(target=build, args=(together, person)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(built))
"""


@pytest.mark.slow
def test_first_arrivals_at_once_ask_the_same() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (told.stdout.strip(), told.stderr) == ("1", "")
