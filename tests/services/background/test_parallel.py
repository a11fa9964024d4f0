"""Heavy statistics on a Dask cluster."""

from pathlib import Path

import joblib
import pytest
from distributed import LocalCluster
from joblib.parallel import get_active_backend

from spanplat.errors import Unavailable
from spanplat.services.background.parallel import heavy_work
from spanplat.settings import Settings


def test_without_a_cluster_the_work_stays_here(tmp_path: Path) -> None:
    with heavy_work(Settings(home=tmp_path, _env_file=None)):
        assert "Dask" not in type(get_active_backend()[0]).__name__


def test_with_a_cluster_its_workers_do_the_work(tmp_path: Path) -> None:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:  # type: ignore[no-untyped-call]
        settings = Settings(home=tmp_path, dask_scheduler=cluster.scheduler_address, _env_file=None)
        with heavy_work(settings):
            assert "Dask" in type(get_active_backend()[0]).__name__
            assert joblib.effective_n_jobs() == 2


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, dask_scheduler="tcp://127.0.0.1:1", _env_file=None)
    with pytest.raises(Unavailable, match=r"tcp://127\.0\.0\.1:1 does not answer"), heavy_work(settings):
        pass
