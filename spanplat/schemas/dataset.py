"""Records of a dataset import: examples with their source, and the outputs of systems for them."""

from typing import Any

from spanplat.schemas.base import Strict


class ExampleRecord(Strict):
    """One example: the source that outputs were made from."""

    split: str
    key: str
    """Names the example within its split (factgenie: its position in the list)."""
    source: Any
    """Any JSON value; None when there is no source."""


class OutputRecord(Strict):
    """One text a system produced for one example."""

    split: str
    key: str
    system: str
    text: str
