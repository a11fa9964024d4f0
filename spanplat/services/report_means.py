"""The mean of several agreement reports, for rules that compare every two annotators."""

from collections.abc import Iterable
from typing import Any

import numpy as np


def mean_of_reports(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Average reports figure by figure, leaving undefined ones out; numbers of outputs and cells of the confusion matrix add up.

    A figure keeps the reason of its being undefined only if no report has it.
    """
    listed = list(reports)
    merged: dict[str, Any] = {}
    for name in listed[0]:
        values = [report[name] for report in listed if name in report]
        merged[name] = _mean_of(name, values)
    return merged


def _mean_of(name: str, values: list[Any]) -> Any:
    if name == "undefined":
        return {path: reason for path, reason in values[0].items() if all(path in value for value in values)}
    if all(isinstance(value, dict) for value in values):
        return mean_of_reports(values) if values[0] else {}
    if name == "matrix":
        return np.sum([np.array(value) for value in values], axis=0).tolist()
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if name == "outputs":
        return sum(numbers)
    if all(value == values[0] for value in values):  # parameters, and figures on which all agree
        return values[0]
    if numbers and all(value is None or isinstance(value, (int, float)) for value in values):
        return sum(numbers) / len(numbers)
    return values[0]
