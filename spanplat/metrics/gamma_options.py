"""Parameters of γ, γ-cat and γ-k."""

from dataclasses import dataclass

from spanplat.errors import InvalidInput
from spanplat.metrics.alignment import Dissimilarity
from spanplat.metrics.result import Option


@dataclass(frozen=True, slots=True)
class GammaOptions:
    """Parameters of γ.

    Parameters
    ----------
    alpha, beta, delta_empty : float
        Weight of positions, weight of categories, and the cost Δ∅ of a unit without partners.
    n_samples : int
        Number of random samples per output for the expected disorder.
    seed : int
        Every output starts from ``numpy.random.RandomState(seed)``, as published figures do.
    precision : float, optional
        Wanted relative precision of every expected disorder (0.02 is two per cent, at 95 % confidence). An output that needs more than
        ``n_samples`` samples gets as many as it needs (Mathet et al. 2015, section 5.3).
    """

    alpha: float = 1.0
    beta: float = 1.0
    delta_empty: float = 1.0
    n_samples: int = 30
    seed: int = 42
    precision: float | None = None

    def __post_init__(self) -> None:
        if self.alpha < 0 or self.beta < 0 or self.delta_empty <= 0 or self.n_samples < 1:
            raise InvalidInput("γ needs α and β of at least 0, Δ∅ above 0 and at least one sample.")
        if self.precision is not None and not 0 < self.precision < 1:
            raise InvalidInput(f"The wanted precision is {self.precision}; give a share between 0 and 1, such as 0.02.")

    @property
    def dissimilarity(self) -> Dissimilarity:
        """Dissimilarity with these weights."""
        return Dissimilarity(self.alpha, self.beta, self.delta_empty)

    def as_dict(self) -> dict[str, Option]:
        """Return the parameters by their names in results, with the name of the random stream."""
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "delta_empty": self.delta_empty,
            "samples": self.n_samples,
            "seed": self.seed,
            "precision": self.precision,
            "stream": "RandomState per output",
        }
