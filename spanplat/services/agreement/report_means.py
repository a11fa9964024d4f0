"""Mean of several agreement reports, for the rule that compares all pairs of annotators."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def mean_of_reports(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Average reports figure by figure. Undefined figures are left out. Numbers of outputs and confusion matrices are summed.

    The mean of a figure is undefined only if the figure is undefined in all reports.
    """
    listed = list(reports)
    merged: dict[str, Any] = {}
    for name in listed[0]:
        values = [report[name] for report in listed if name in report]
        merged[name] = _mean_of(name, values)
    return merged


def _mean_of(name: str, values: list[Any]) -> Any:
    if name == "undefined":
        # A figure with a value in any report has a mean, so only reasons that all reports share remain.
        return {path: reason for path, reason in values[0].items() if all(path in value for value in values)}
    if all(isinstance(value, dict) for value in values):
        return mean_of_reports(values) if values[0] else {}
    if name == "matrix":
        return np.sum([np.array(value) for value in values], axis=0).tolist()
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if name == "outputs":
        return sum(numbers)
    # Equal values are mostly parameters, such as a seed or a text. Their mean could change an int to a float.
    if all(value == values[0] for value in values):
        return values[0]
    if numbers and all(value is None or isinstance(value, (int, float)) for value in values):
        return sum(numbers) / len(numbers)
    return values[0]
