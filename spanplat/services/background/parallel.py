"""Parallel statistics on a Dask cluster, if one is configured."""

import contextlib
from collections.abc import Iterator

import joblib

from spanplat.errors import InvalidInput, Unavailable
from spanplat.settings import Settings

CONNECT_SECONDS = 5
"""Timeout of the connection to the Dask scheduler."""


@contextlib.contextmanager
def heavy_work(settings: Settings) -> Iterator[None]:
    """Run the heavy statistics of a block on the configured Dask cluster, or in this process without a cluster.

    Raises
    ------
    InvalidInput
        If a cluster is configured and Dask is not installed.
    Unavailable
        If the cluster does not answer.
    """
    if not settings.dask_scheduler:
        yield
        return
    try:
        from distributed import Client  # noqa: PLC0415 (an optional dependency, and slow to import)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            "SPANPLAT_DASK_SCHEDULER is set, but Dask is not installed; install it with: pip install 'spanplat[dask]'"
        ) from error
    try:
        client = Client(settings.dask_scheduler, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise Unavailable(f"the Dask scheduler {settings.dask_scheduler} does not answer: {error}") from error
    # Measures call joblib without a backend. This setting sends their work to the cluster.
    with client, joblib.parallel_config(backend="dask", n_jobs=-1):
        yield
