"""Kill workers of a model campaign with SIGKILL at random moments, and check that no item is asked twice, missing or duplicated.

See `tests.simulation.model_run_kill`.
"""

import argparse
import os

from tests.simulation.databases import KINDS, fresh_database, kinds_of
from tests.simulation.model_run_kill import Trial
from tests.simulation.provider import KEY_VARIABLE


def main() -> None:
    """Run the trials and print their results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, default=2400)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--workers", type=int, action="append", help="1 and 2 by default")
    parser.add_argument("--database", choices=(*KINDS, "both"), default="both")
    parser.add_argument("--short", action="store_true", help="3 kills")
    arguments = parser.parse_args()
    os.environ.setdefault(KEY_VARIABLE, "any")
    wrong = False
    for kind in kinds_of(arguments.database):
        for workers in arguments.workers or (1, 2):
            with fresh_database(kind) as url:
                kills = 3 if arguments.short else arguments.kills
                trial = Trial(url, outputs=arguments.outputs, kills=kills, workers=workers, seed=arguments.seed)
                found = trial.run()
            print(
                f"{kind}, {workers} at once: {trial.kills} workers killed, {trial.calls} calls for {arguments.outputs} "
                f"outputs, {len(found)} contradictions",
                flush=True,
            )
            for contradiction in found:
                wrong = True
                print(f"  {contradiction}")
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
