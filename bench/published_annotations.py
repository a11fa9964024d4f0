"""Published annotations as comparisons: the data of the benchmarks of measures."""

import json
from pathlib import Path

import numpy as np

from spanplat.metrics import Comparison, SpanSet

Key = tuple[str, str, str, int]
Spans = list[tuple[int, int, int]]

CATEGORIES = ("Contradictory", "Not checkable", "Misleading", "Incoherent", "Repetitive", "Other")


def read(folder: Path) -> dict[Key, dict[int, Spans]]:
    """Return the spans by output and annotator group."""
    annotations: dict[Key, dict[int, Spans]] = {}
    with (folder / "annotations.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            key = (record["dataset"], record["split"], record["setup_id"].replace(".", "-"), record["example_idx"])
            spans = [(span["start"], span["start"] + len(span["text"]), span["type"]) for span in record["annotations"]]
            annotations.setdefault(key, {}).setdefault(record.get("annotator_group", 0), spans)
    return annotations


def people_and_model(data: Path, model: str) -> Comparison:
    """Compare the first human annotator of the test data with a model."""
    folder = data / "d2t-eval" / "annotations"
    people, answers = read(folder / "human" / "test"), read(folder / "model" / "test" / model)
    common = sorted(people.keys() & answers.keys())
    reference, hypothesis = ([side[key][min(side[key])] for key in common] for side in (people, answers))
    return Comparison.of(reference, hypothesis, CATEGORIES)


def triples(data: Path) -> list[list[Spans]]:
    """Return disjoint triples of annotators who all marked something, for each output of the agreement study."""
    found = []
    for groups in read(data / "d2t-eval" / "annotations" / "human" / "iaa").values():
        marked = [groups[group] for group in sorted(groups) if groups[group]]
        found += [marked[place : place + 3] for place in range(0, len(marked) - 2, 3)]
    return found


def made(n_outputs: int, *, spans_per_output: int = 4, seed: int = 1) -> Comparison:
    """Generate a comparison with this number of outputs, and about this number of spans per side and output."""
    random = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        output = np.repeat(np.arange(n_outputs), random.poisson(spans_per_output, n_outputs))
        start = random.integers(0, 1000, len(output))
        end = start + random.integers(5, 120, len(output))
        sides.append(
            SpanSet.from_columns(
                output, n_outputs=n_outputs, start=start, end=end, category=random.integers(0, 6, len(output))
            )
        )
    return Comparison(sides[0], sides[1], CATEGORIES)
