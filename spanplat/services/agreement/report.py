"""Report on the agreement of two sides. Figures of stages that are not computed yet are None."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

from spanplat.metrics.scores import Scores
from spanplat.services.background import OMITTED_WHEN_NONE, Report

Interval = tuple[float | None, float | None]
"""Lower and upper bound. A bound is None if the figure is undefined in every resample."""

SHOWS_MICRO_AT_THE_TOP = "char"
"""Measure whose micro averages have no key of their own in JSON. They stand on the level of the other averages."""


@dataclass(frozen=True)
class ComparedSide:
    """One compared campaign: its slug, the rule for its annotators, and its number of spans on the compared outputs."""

    campaign: str
    rule: str
    spans: int


@dataclass(frozen=True)
class AveragedScores:
    """Precision, recall and F1 under each average."""

    micro: Scores
    macro: Scores
    strata: Scores | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    """Mean over splits, datasets or systems, if requested."""


@dataclass(frozen=True)
class MeasureScores:
    """Scores of one measure of precision and recall."""

    hard: AveragedScores
    soft: AveragedScores
    delta: float | None
    """Soft F1 minus hard F1."""


@dataclass(frozen=True)
class VariantScores:
    """Precision, recall and F1 of one measure, with and without categories."""

    hard: Scores
    soft: Scores


@dataclass(frozen=True)
class CountCorrelations:
    """Correlations of the numbers of spans."""

    micro: float | None
    macro: float | None
    totals: float | None
    per_category: Mapping[str, float | None]


@dataclass(frozen=True)
class OutputMean:
    """Mean over outputs, with the number of outputs that have a value."""

    mean: float | None
    outputs: int


@dataclass(frozen=True)
class GammaFigures:
    """Figures of γ with its parameters."""

    hard: OutputMean
    soft: OutputMean
    alpha: float
    beta: float
    delta_empty: float
    samples: int
    seed: int
    stream: str


@dataclass(frozen=True)
class ConfusionTable:
    """Confusion matrix of span pairs. The last row and column count spans without a partner."""

    labels: Sequence[str]
    matrix: Sequence[Sequence[int]]


@dataclass(frozen=True)
class SpansOfSides:
    """Numbers of spans on both sides. They are means if several pairs of annotators are averaged."""

    reference: int | float
    hypothesis: int | float


@dataclass(frozen=True)
class CategoryFigures:
    """Figures of one category."""

    spans: SpansOfSides
    scores: Mapping[str, Scores]
    """Micro averages by measure."""


@dataclass(frozen=True)
class HypothesisOnSameOutputs:
    """Figures of the hypothesis on the outputs of the human ceiling."""

    outputs: int
    char: MeasureScores
    intervals: Mapping[str, Interval]


@dataclass(frozen=True)
class HumanCeiling:
    """Agreement among the reference's annotators, on outputs that the hypothesis completed too."""

    rules: Sequence[str]
    outputs: int
    char: MeasureScores
    gamma: GammaFigures
    s_empty: OutputMean
    pearson: CountCorrelations
    intervals: Mapping[str, Interval]
    hypothesis: HypothesisOnSameOutputs


@dataclass(frozen=True, kw_only=True)
class AgreementReport(Report):
    """Report on the agreement of two sides. A joint comparison of all annotators has only γ."""

    reference: ComparedSide
    hypothesis: ComparedSide
    outputs: int
    measures: Mapping[str, MeasureScores]
    """Measures of precision and recall by name. Empty in a joint comparison of all annotators."""
    macro_f_of_means: Mapping[str, VariantScores] | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    """F1 of the mean precision and recall, by measure."""
    pearson: CountCorrelations | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    s_empty: OutputMean | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    confusion: ConfusionTable | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    per_category: Mapping[str, CategoryFigures] | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    undefined: Mapping[str, str]
    """Reasons for undefined figures, by the path of the figure, such as ``gamma.hard.mean``."""
    outputs_reference_only: int
    outputs_hypothesis_only: int
    gamma: GammaFigures | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    gamma_cat: OutputMean | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    gamma_per_category: Mapping[str, OutputMean] | None = field(default=None, metadata=OMITTED_WHEN_NONE)
    intervals: Mapping[str, Interval]
    """Intervals by the path of the figure."""
    ceiling: HumanCeiling | None = None
    """None if no output has a second annotator in the reference."""

    def as_json(self) -> dict[str, Any]:
        """Return the report as ``spanplat agreement --json`` prints it: each measure under its own name."""
        # Stored stages have this layout too. The nested fields are for typed access in the program.
        plain = super().as_json()
        document: dict[str, Any] = {}
        for name, value in plain.items():
            if name == "measures":
                document |= {measure: _measure_as_json(measure, scores) for measure, scores in value.items()}
            elif name == "per_category":
                document[name] = {one: {"spans": own["spans"], **own["scores"]} for one, own in value.items()}
            else:
                document[name] = value
        if ceiling := document["ceiling"]:
            ceiling["char"] = _measure_as_json("char", ceiling["char"])
            ceiling["hypothesis"]["char"] = _measure_as_json("char", ceiling["hypothesis"]["char"])
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read a report that `as_json` wrote. Stages may be missing."""
        # Every key that is not a field of the report is the name of a measure.
        own = {one.name for one in fields(cls)}
        plain = {name: value for name, value in document.items() if name in own}
        measures = {name: value for name, value in document.items() if name not in own}
        plain["measures"] = {name: _measure_from_json(name, value) for name, value in measures.items()}
        plain["per_category"] = _categories_from_json(document.get("per_category"))
        if ceiling := document.get("ceiling"):
            compared = ceiling["hypothesis"]
            plain["ceiling"] = {
                **ceiling,
                "char": _measure_from_json("char", ceiling["char"]),
                "hypothesis": {**compared, "char": _measure_from_json("char", compared["char"])},
            }
        return super().from_json({"undefined": {}, "intervals": {}, **plain})


def _measure_as_json(measure: str, scores: Mapping[str, Any]) -> dict[str, Any]:
    if measure != SHOWS_MICRO_AT_THE_TOP:
        return dict(scores)
    flat = {}
    for variant in ("hard", "soft"):
        averages = dict(scores[variant])
        flat[variant] = {**averages.pop("micro"), **averages}
    return {**flat, "delta": scores["delta"]}


def _measure_from_json(measure: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    if measure != SHOWS_MICRO_AT_THE_TOP:
        return document
    nested = {variant: {"micro": document[variant], **document[variant]} for variant in ("hard", "soft")}
    return {**nested, "delta": document["delta"]}


def _categories_from_json(document: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Any] | None:
    if document is None:
        return None
    return {
        category: {"spans": own["spans"], "scores": {name: value for name, value in own.items() if name != "spans"}}
        for category, own in document.items()
    }
