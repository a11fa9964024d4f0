"""Result of a measure: figures, the reasons for undefined figures, and a signature that makes every number reproducible."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from spanplat import __version__
from spanplat.metrics.spans import FloatArray

Option = str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Figures of one measure on one comparison.

    Parameters
    ----------
    measure : str
        The measure's name in the registry.
    figures : mapping of str to float or None
        The figures by name (``precision``, ``recall``, ``f1``, ``mean``, ...). An undefined figure is ``None``, never 0.
    outputs : int
        Number of outputs behind the figures.
    options : mapping
        Variant, parameters and seed.
    undefined : mapping of str to str
        The reason for every figure that is ``None``.
    per_output : mapping of str to array
        Values per output, shape (n,). An output without a value has NaN.

    Examples
    --------
    >>> result = Result("char", {"f1": 0.5}, outputs=1, options={"soft": True})
    >>> result["f1"], result.signature.startswith("char|outputs:1|soft:true|v:")
    (0.5, True)
    """

    measure: str
    figures: Mapping[str, float | None]
    outputs: int
    options: Mapping[str, Option] = field(default_factory=dict)
    undefined: Mapping[str, str] = field(default_factory=dict)
    per_output: Mapping[str, FloatArray] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float | None:
        return self.figures[name]

    @property
    def precision(self) -> float | None:
        """Precision, if the measure has it."""
        return self.figures["precision"]

    @property
    def recall(self) -> float | None:
        """Recall, if the measure has it."""
        return self.figures["recall"]

    @property
    def f1(self) -> float | None:
        """F1, if the measure has it."""
        return self.figures["f1"]

    @property
    def mean(self) -> float | None:
        """Mean over outputs, if the measure has it."""
        return self.figures["mean"]

    @property
    def signature(self) -> str:
        """Measure, number of outputs, options and version in one line. The options are in alphabetical order."""
        options = [f"{name}:{_option_text(value)}" for name, value in sorted(self.options.items())]
        return "|".join([self.measure, f"outputs:{self.outputs}", *options, f"v:{__version__}"])


def _option_text(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else f"{value}"
