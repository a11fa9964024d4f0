"""Figures do not depend on the number of processes."""

from collections.abc import Iterator

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster

from spanplat.metrics import Comparison, bootstrap
from spanplat.metrics import mathet as module
from spanplat.metrics.mathet import gamma_disorders
from spanplat.metrics.resampling import f1_statistic


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Comparison:
    monkeypatch.setattr(module, "OUTPUTS_AT_ONCE", 10)  # several pieces of work
    random = np.random.default_rng(6)
    sides = [
        [[(int(s), int(s) + 9, int(s) % 3) for s in row] for row in random.integers(0, 90, (45, 3))] for _ in range(2)
    ]
    return Comparison.of(sides[0], sides[1])


@pytest.fixture
def dask_cluster() -> Iterator[None]:
    """Two worker processes of a Dask cluster on this machine."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,  # type: ignore[no-untyped-call]
        Client(cluster),  # type: ignore[no-untyped-call]
    ):
        yield


def figures(pair: Comparison, n_jobs: int | None = None) -> list[float]:
    disorders = gamma_disorders((pair.hypothesis, pair.reference), n_jobs=n_jobs)
    columns = np.stack([np.arange(45.0), np.full(45, 60.0), np.arange(45.0), np.full(45, 50.0)], axis=1)
    intervals = bootstrap(columns, f1_statistic, n_resamples=100, n_jobs=n_jobs)
    return [
        *disorders.hard.gamma.tolist(),
        *disorders.soft.gamma.tolist(),
        *intervals.low.tolist(),
        *intervals.high.tolist(),
    ]


def test_two_threads_give_the_same_figures(pair: Comparison) -> None:
    alone = figures(pair, n_jobs=1)
    with joblib.parallel_config(backend="threading"):
        together = figures(pair, n_jobs=2)

    assert together == alone


@pytest.mark.usefixtures("dask_cluster")
def test_a_dask_cluster_gives_the_same_figures(pair: Comparison) -> None:
    alone = figures(pair, n_jobs=1)
    with joblib.parallel_config(backend="dask"):
        together = figures(pair)

    assert together == alone
