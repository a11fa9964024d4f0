"""Datasets: importing texts and their sources, uploads, lists, search and browsing."""

from spanplat.services.datasets.importing import DatasetReport, import_dataset, read_records
from spanplat.services.datasets.search import contains
from spanplat.services.datasets.storing import (
    CHUNK,
    MANY_RECORDS,
    OutputKey,
    chunked,
    load_outputs,
    seal_dataset,
    store_records,
)

__all__ = [
    "CHUNK",
    "MANY_RECORDS",
    "DatasetReport",
    "OutputKey",
    "chunked",
    "contains",
    "import_dataset",
    "load_outputs",
    "read_records",
    "seal_dataset",
    "store_records",
]
