"""Import of the measures in a notebook: it loads NumPy and SciPy, and nothing of the platform."""

import subprocess
import sys

LOADED = """
import sys

before = set(sys.modules)
import spanplat.metrics

print(*set(sys.modules) - before)
"""


def loaded_by_the_measures() -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_measures_loads_numpy_and_scipy_only() -> None:
    packages = {name.partition(".")[0] for name in loaded_by_the_measures()} - sys.stdlib_module_names

    # The others are names under which the compiled parts of NumPy and SciPy register what they share.
    shared = {name for name in packages if name.startswith(("_cy", "cython_runtime", "_sysconfigdata"))}
    assert packages - shared == {"numpy", "scipy", "spanplat"}


def test_importing_the_measures_loads_no_other_part_of_the_platform() -> None:
    own = {name.split(".")[1] for name in loaded_by_the_measures() if name.startswith("spanplat.")}

    assert own == {"errors", "metrics"}
