"""Simulation of hundreds of workers over simulated days: they come at once, leave, vanish, return, click twice and are replaced.

See `tests.simulation.crowd`. Run: python -m bench.crowd [--workers 400] [--database URL] [--seed 1]
"""

import argparse
import tempfile
from pathlib import Path

from spanplat.db import Database
from spanplat.db.schema import initialise
from tests.simulation.crowd import simulate


def main() -> None:
    """Run a simulation and print its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=400)
    parser.add_argument("--outputs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", help="URL of an empty database; a SQLite file by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(options.database or f"sqlite:///{Path(folder) / 'crowd.sqlite3'}")
        initialise(database)
        report = simulate(database, workers=options.workers, outputs=options.outputs, seed=options.seed)
        database.dispose()
    for name, value in vars(report).items():
        print(f"{name}: {value}")
    raise SystemExit(1 if report.broken else 0)


if __name__ == "__main__":
    main()
