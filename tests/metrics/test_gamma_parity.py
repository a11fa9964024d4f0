"""γ equals the result of pygamma-agreement for every example, with the same seed."""

import json
from pathlib import Path

import pytest

from spanplat.metrics import GammaOptions, SpanSet
from spanplat.metrics.mathet import gamma_disorders

pytestmark = pytest.mark.data


def test_all_reference_cases(research_data: Path) -> None:
    cases = json.loads((research_data / "reference" / "gamma.json").read_text(encoding="utf-8"))["cases"]
    misses = []
    for case in cases:
        options = GammaOptions(case["alpha"], case["beta"], case["delta_empty"], case["n_samples"], case["seed"])
        annotators = [SpanSet.from_lists([case["annotators"][name]]) for name in sorted(case["annotators"])]
        disorders = gamma_disorders(annotators, options)
        for variant, ours in (("hard", disorders.hard), ("soft", disorders.soft)):
            expected = case[variant]
            figures = {"gamma": ours.gamma, "observed_disorder": ours.observed, "expected_disorder": ours.expected}
            misses += [
                (case["example"], variant, name, float(value[0]), expected[name])
                for name, value in figures.items()
                if abs(value[0] - expected[name]) > 1e-6
            ]

    assert len(cases) == 252
    assert misses == []
