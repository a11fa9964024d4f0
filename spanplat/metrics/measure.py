"""Base classes of measures: counting per output, the figure that follows from the counts, title and explanation."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.resampling import f1_statistic, mean_columns, mean_statistic, pearson_columns, pearson_statistic
from spanplat.metrics.result import Result
from spanplat.metrics.scores import Average, ScoreCounts
from spanplat.metrics.spans import Comparison, FloatArray, SpanSet

Variant = Literal["hard", "soft"]
"""``hard`` requires equal categories, ``soft`` ignores them."""
Matching = Literal["optimal", "greedy"]
Empty = Literal["include", "skip"]

VARIANT_TITLES: Mapping[Variant, str] = {"hard": "same category", "soft": "any category"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explanation of a figure: what it measures and what it ignores, in one or two sentences (English; pages translate)."""

    measures: str
    ignores: str


@dataclass(frozen=True, slots=True)
class CountOptions:
    """Options of counting per output. A measure ignores the options that do not concern it.

    Parameters
    ----------
    soft : bool
        Whether to ignore categories.
    average, by
        The average that the counts are for. An optimal matching depends on it (see `spanplat.metrics.scores.score`).
    matching : {"optimal", "greedy"}
        How spans are matched one to one.
    tau : int
        Smallest number of common characters of a match.
    severity_penalty : float
        Deduction for a match of two different severities, between 0 and 1.
    """

    soft: bool = False
    average: Average = "micro"
    by: str | None = None
    matching: Matching = "optimal"
    tau: int = 1
    severity_penalty: float = 0.0


CountsFunction = Callable[[Comparison, CountOptions], ScoreCounts]
"""Function from a comparison to the numerators and denominators of precision and recall, one row per output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure(ABC):
    """Measure that compares two sides. Subclasses define how its headline figure follows from sums over outputs.

    Parameters
    ----------
    name : str
        Name in results, signatures and definitions.
    title : str
        Title on pages (English; pages translate).
    explanation : Explanation
        What it measures and what it ignores.
    source : str
        Source of the formula.
    compute : callable
        Function from a comparison and options to a `Result`.
    bounds : tuple of float
        Lowest and highest possible value of its figures.
    why_undefined : str
        Reason that is shown if its headline figure is undefined.
    has_soft : bool
        Whether it has a variant that ignores categories.
    ranks : bool
        Whether leaderboards offer it. They rank by the headline figure, and a higher figure is better.
    titles : mapping of variant to str
        Titles of its variants, if they are not the title with "same category" and "any category".
    explanations : mapping of variant to Explanation
        Explanations of variants that need their own.
    report_name : str
        Name in reports and leaderboards, if it differs from the name in definitions.
    """

    name: str
    title: str
    explanation: Explanation
    source: str
    compute: Callable[..., Result]
    bounds: tuple[float, float]
    why_undefined: str
    has_soft: bool = True
    ranks: bool = True
    titles: Mapping[Variant, str] = field(default_factory=dict)
    explanations: Mapping[Variant, Explanation] = field(default_factory=dict)
    report_name: str = ""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The name of the figure shown first."""

    @abstractmethod
    def columns(self, pair: Comparison, softs: Sequence[bool], gamma: GammaOptions) -> list[FloatArray]:
        """Count per output what the headline figure follows from. A bootstrap resamples these counts.

        Parameters
        ----------
        pair : Comparison
            Reference and hypothesis.
        softs : sequence of bool
            The requested variants: whether each ignores categories.
        gamma : GammaOptions
            Parameters of γ, for measures with random samples.

        Returns
        -------
        list of array of float, shape (n, k)
            One array for each requested variant.
        """

    @abstractmethod
    def statistic(self, sums: FloatArray) -> FloatArray:
        """Return the headline figures of column sums, shapes (r, k) to (r, 1). An undefined figure is NaN."""

    @property
    def variants(self) -> "list[MeasureVariant]":
        """Variants of the measure: with and without categories, or a single one."""
        if not self.has_soft:
            return [MeasureVariant(self, None)]
        return [MeasureVariant(self, "hard"), MeasureVariant(self, "soft")]


@dataclass(frozen=True, slots=True)
class MeasureVariant:
    """Measure with or without categories, as reports and leaderboards list it."""

    measure: Measure
    variant: Variant | None
    """Variant, or None if the measure has no variants."""

    @property
    def name(self) -> str:
        """Name in reports and leaderboards, such as ``char.hard``."""
        name = self.measure.report_name or self.measure.name
        return f"{name}.{self.variant}" if self.variant else name

    @property
    def title(self) -> str:
        """Title on pages (English; pages translate)."""
        if self.variant is None:
            return self.measure.title
        return self.measure.titles.get(self.variant) or f"{self.measure.title}, {VARIANT_TITLES[self.variant]}"

    @property
    def explanation(self) -> Explanation:
        """Explanation of the variant, or of the measure."""
        own = self.measure.explanations.get(self.variant) if self.variant else None
        return own or self.measure.explanation

    @property
    def is_soft(self) -> bool:
        """Whether the variant ignores categories."""
        return self.variant == "soft"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRecall(Measure):
    """Measure of precision, recall and F1. If the sides are exchanged, precision and recall are exchanged too.

    Parameters
    ----------
    row_title : str
        Title in tables of such measures: the unit that it counts (English; pages translate).
    counts : callable
        Numerators and denominators per output.
    unit : {"characters", "spans"}
        Unit of the counts. With ``empty="skip"``, measures of characters leave out outputs without spans on one side.
    """

    row_title: str
    counts: CountsFunction
    unit: Literal["characters", "spans"] = "spans"
    bounds: tuple[float, float] = (0.0, 1.0)
    why_undefined: str = "no output to compare"

    @property
    def headline(self) -> str:
        """The name of the figure shown first."""
        return "f1"

    def columns(self, pair: Comparison, softs: Sequence[bool], _gamma: GammaOptions) -> list[FloatArray]:
        """Stack the counts of each variant, shape (n, 4), see `Measure.columns`."""
        return [self.counts(pair, CountOptions(soft=soft)).columns for soft in softs]

    def statistic(self, sums: FloatArray) -> FloatArray:
        """Return F1 of sums of counts, shapes (r, 4) to (r, 1)."""
        return f1_statistic(sums)[:, 2:]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanOverOutputs(Measure):
    """Measure that is the mean of one value per output. It is symmetric in the two sides.

    Parameters
    ----------
    values : callable
        Function from a comparison, the requested variants and the parameters of γ to the values of each variant, shape (n,). An output
        without a value has NaN.
    """

    values: Callable[[Comparison, Sequence[bool], GammaOptions], list[FloatArray]]

    @property
    def headline(self) -> str:
        """The name of the figure shown first."""
        return "mean"

    def columns(self, pair: Comparison, softs: Sequence[bool], gamma: GammaOptions) -> list[FloatArray]:
        """Return values and whether they are defined, shape (n, 2), see `Measure.columns`."""
        return [mean_columns(values) for values in self.values(pair, softs, gamma)]

    def statistic(self, sums: FloatArray) -> FloatArray:
        """Return the mean of the outputs that have a value, shapes (r, 2) to (r, 1)."""
        return mean_statistic(sums)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation(Measure):
    """Pearson correlation over the cells (output, category) of two sides. It is symmetric in the two sides.

    Parameters
    ----------
    values : callable
        Function from the spans of one side and the number of categories to the values of its cells, shape (n, categories).
    """

    values: Callable[[SpanSet, int], FloatArray]

    @property
    def headline(self) -> str:
        """The name of the figure shown first."""
        return "micro"

    def columns(self, pair: Comparison, softs: Sequence[bool], _gamma: GammaOptions) -> list[FloatArray]:
        """Return the sums that a correlation needs, shape (n, 6), see `Measure.columns`."""
        sides = [self.values(side, pair.n_categories) for side in (pair.hypothesis, pair.reference)]
        return [pearson_columns(sides[0], sides[1]) for _ in softs]

    def statistic(self, sums: FloatArray) -> FloatArray:
        """Return the correlation, shapes (r, 6) to (r, 1)."""
        return pearson_statistic(sums)
