"""Kill the server with SIGKILL at random moments of scripted annotations, and check that no acknowledged work is lost.

See `tests.simulation.server_kill`.
"""

import argparse
import sys

from tests.simulation.databases import KINDS, fresh_database, kinds_of
from tests.simulation.server_kill import Trial


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=[*KINDS, "both"], default="both")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--short", action="store_true", help="two kills")
    options = parser.parse_args()
    sound = True
    for kind in kinds_of(options.database):
        with fresh_database(kind) as url:
            trial = Trial(url, kills=2 if options.short else options.kills, seed=options.seed)
            trial.run()
        wrong = [*trial.losses, *trial.measurements.errors]
        print(
            f"{kind}: {2 if options.short else options.kills} kills; {trial.acknowledged} saves and {trial.submitted} "
            f"submissions acknowledged, {trial.interrupted} interrupted; {len(wrong)} lost, doubled or refused"
        )
        for problem in wrong[:10]:
            print(f"  {problem}", file=sys.stderr)
        sound = sound and not wrong
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
