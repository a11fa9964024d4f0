"""The agreement of two campaigns, prepared for the page: cards, tables, and the confusion matrix as a heat map."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import format_decimal, lazy_gettext
from flask_babel import gettext as _

from spanplat.services.disagreement import NO_PARTNER
from spanplat.web.explanations import EXPLANATIONS, Explanation
from spanplat.web.formatting import figure

HEAT_LEVELS = 9

FAMILIES: Mapping[str, Any] = {
    "char": lazy_gettext("characters, with multiplicity"),
    "char_binary": lazy_gettext("characters, each once"),
    "exact": lazy_gettext("identical spans"),
    "partial": lazy_gettext("overlapping spans, one to one"),
    "partial_credit": lazy_gettext("overlapping spans, credit by overlap (recommended)"),
    "best_match": lazy_gettext("each span with its best match"),
    "span_average": lazy_gettext("each span with its best match, lengths exchanged"),
}
PRF = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Figure:
    """One number; ``reason`` says why it is undefined when it is."""

    value: float | None
    reason: str = ""
    low: float | None = None
    """Bounds of its interval, where it has one."""
    high: float | None = None
    pending: bool = False
    """Whether it is still to be computed."""
    awaits_interval: bool = False


@dataclass(frozen=True)
class Card:
    """One headline figure with what belongs to it."""

    key: str
    title: str
    figure: Figure
    parts: Sequence[tuple[str, Figure]] = ()
    note: str = ""
    variant: str = ""
    """Rules and parameters behind the figure."""
    people: Figure | None = None
    """The same figure of the reference's annotators among themselves, where there are several."""

    @property
    def explanation(self) -> Explanation:
        """The text behind the card's ⓘ."""
        return EXPLANATIONS[self.key]


@dataclass(frozen=True)
class FigureRow:
    """One row of a table of figures."""

    name: str
    figures: Sequence[Figure]
    title: str = ""


@dataclass(frozen=True)
class FigureTable:
    """A table of figures."""

    columns: Sequence[str]
    rows: Sequence[FigureRow]

    def without_empty_columns(self) -> "FigureTable":
        """Leave out what the result does not contain at all, as opposed to what is undefined for a reason."""
        kept = [
            column
            for column in range(len(self.columns))
            if any(
                one.value is not None or one.reason or one.pending for one in (row.figures[column] for row in self.rows)
            )
        ]
        rows = [FigureRow(row.name, [row.figures[column] for column in kept]) for row in self.rows]
        return FigureTable([self.columns[column] for column in kept], rows)


@dataclass(frozen=True)
class HeatCell:
    """One cell of the confusion matrix; ``level`` is its shade, by the share of its row."""

    count: int
    share: float | None
    level: int


@dataclass(frozen=True)
class HeatRow:
    """One reference category."""

    label: str
    cells: Sequence[HeatCell]
    total: int


class AgreementView:
    """One agreement result as the page shows it.

    Parameters
    ----------
    result
        The result in the form that ``spanplat agreement --json`` prints.
    pending
        Stages whose figures are not there yet.
    has_company
        Whether the reference has several annotators, so that figures of people among themselves may come.
    """

    def __init__(self, result: Mapping[str, Any], pending: Collection[str] = (), *, has_company: bool = False) -> None:
        self.result = result
        self.pending = pending
        self.awaits_people = has_company and "ceiling" in pending
        self._intervals: Mapping[str, Sequence[float | None]] = result.get("intervals") or {}
        self._undefined: Mapping[str, str] = result.get("undefined") or {}

    def figure(self, *path: str) -> Figure:
        """Return the figure at a path such as ``"char", "hard", "f1"``, with the reason when it is undefined."""
        value: Any = self.result
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        prefixes = (".".join(path[:length]) for length in range(len(path), 0, -1))
        reason = next((self._undefined[prefix] for prefix in prefixes if prefix in self._undefined), "")
        low, high = self._intervals.get(".".join(path), (None, None))
        pending = path[0].startswith("gamma") and "gamma" in self.pending
        value = value if isinstance(value, int | float) else None
        return Figure(value, reason, low, high, pending, awaits_interval="intervals" in self.pending)

    @property
    def cards(self) -> list[Card]:
        """The headline figures."""
        return [
            self._char_card("char_hard", _("Character F1, same category"), "hard"),
            self._char_card("char_soft", _("Character F1, any category"), "soft"),
            self._gamma_card("gamma_hard", _("γ"), "hard"),
            self._gamma_card("gamma_soft", _("γ, soft alignment"), "soft"),
            Card(
                "s_empty",
                _("Agreement on nothing S∅"),
                self.figure("s_empty", "mean"),
                note=self._outputs("s_empty"),
                variant=self._rules,
                people=self._people("s_empty", "mean"),
            ),
            Card(
                "pearson",
                _("Correlation of counts ρ"),
                self.figure("pearson", "micro"),
                [(_("macro"), self.figure("pearson", "macro"))],
                variant=self._rules,
                people=self._people("pearson", "micro"),
            ),
        ]

    @property
    def ceiling(self) -> Mapping[str, Any] | None:
        """The reference's annotators among themselves; None where none of them has company."""
        found: Mapping[str, Any] | None = self.result.get("ceiling")
        return found

    @property
    def against_people(self) -> str:
        """Tell how the hypothesis stands to what people reach among themselves on the same outputs; empty without people."""
        if self.ceiling is None:
            return ""
        people, own = (
            AgreementView(part).figure("char", "hard", "f1") for part in (self.ceiling, self.ceiling["hypothesis"])
        )
        words = {
            "reference": self.result["reference"]["campaign"],
            "hypothesis": self.result["hypothesis"]["campaign"],
            "own": figure(own.value),
            "people": figure(people.value),
        }
        if people.low is None or people.high is None or own.low is None or own.high is None:
            return ""
        if own.low > people.high:
            text = _(
                "%(hypothesis)s agrees with %(reference)s more (%(own)s) than the people of %(reference)s with each other "
                "(%(people)s),",
                **words,
            )
        elif own.high < people.low:
            text = _(
                "%(hypothesis)s agrees with %(reference)s less (%(own)s) than the people of %(reference)s with each other "
                "(%(people)s),",
                **words,
            )
        else:
            text = _(
                "%(hypothesis)s agrees with %(reference)s (%(own)s) about as much as the people of %(reference)s with each other "
                "(%(people)s; the intervals overlap),",
                **words,
            )
        return str(text)

    @property
    def widest_gap(self) -> tuple[str, str, int] | None:
        """Return the most frequent disagreement: category of the reference, of the hypothesis, number; `NO_PARTNER` for none."""
        confusion = self.result.get("confusion")
        if not confusion:
            return None
        labels = [*confusion["labels"][:-1], NO_PARTNER]
        cells = [
            (labels[row], labels[column], number)
            for row, numbers in enumerate(confusion["matrix"])
            for column, number in enumerate(numbers)
            if row != column and number
        ]
        return max(cells, key=lambda cell: cell[2], default=None)

    @property
    def by_category(self) -> FigureTable:
        """Characters, counts and γ of each category."""
        columns = {
            _("Precision"): ("per_category", None, "char", "precision"),
            _("Recall"): ("per_category", None, "char", "recall"),
            _("F1 (characters)"): ("per_category", None, "char", "f1"),
            _("ρ (counts)"): ("pearson", "per_category", None),
            _("γ"): ("gamma_per_category", None, "mean"),
        }
        counts = (self.result.get("pearson") or {}).get("per_category") or {}
        names = list(self.result.get("per_category") or counts)
        rows = [
            FigureRow(name, [self.figure(*(part or name for part in path)) for path in columns.values()])
            for name in names
        ]
        return FigureTable(list(columns), rows).without_empty_columns()

    @property
    def families(self) -> list[FigureRow]:
        """Every measure of precision, recall and F1 that the result has, same category before any category."""
        return [
            FigureRow(
                family,
                [
                    self.figure(family, side, *(() if family == "char" else ("micro",)), part)
                    for side in ("hard", "soft")
                    for part in PRF
                ],
                str(title),
            )
            for family, title in FAMILIES.items()
            if family in self.result
        ]

    @property
    def about_categories(self) -> list[tuple[str, Explanation]]:
        """What the columns of the table by category mean."""
        names = {
            _("Precision"): "precision",
            _("Recall"): "recall",
            _("F1 (characters)"): "f1",
            _("ρ (counts)"): "pearson",
            _("γ"): "gamma",
        }
        return [
            (name, EXPLANATIONS[f"category.{key}"]) for name, key in names.items() if name in self.by_category.columns
        ]

    @property
    def about_families(self) -> list[tuple[str, Explanation]]:
        """What the measures of precision, recall and F1 mean."""
        return [(row.title, EXPLANATIONS[row.name]) for row in self.families]

    @property
    def confusion(self) -> list[HeatRow]:
        """The rows of the confusion matrix, shaded by the share of each row."""
        confusion = self.result.get("confusion") or {"labels": [], "matrix": []}
        return [
            _heat_row(label, counts) for label, counts in zip(confusion["labels"], confusion["matrix"], strict=True)
        ]

    def _char_card(self, key: str, title: str, side: str) -> Card:
        parts = [
            (_("precision"), self.figure("char", side, "precision")),
            (_("recall"), self.figure("char", side, "recall")),
        ]
        if side == "soft":
            parts.append(("Δ", self.figure("char", "delta")))
        people = self._people("char", side, "f1")
        return Card(key, title, self.figure("char", side, "f1"), parts, variant=self._rules, people=people)

    def _gamma_card(self, key: str, title: str, side: str) -> Card:
        options = self.result.get("gamma", {})
        names = {"α": "alpha", "β": "beta", "Δ∅": "delta_empty", _("samples"): "samples", _("seed"): "seed"}
        shown = [f"{name} {options[option]:g}" for name, option in names.items() if option in options]
        variant = "; ".join([self._rules, *shown])
        people = self._people("gamma", side, "mean")
        return Card(key, title, self.figure("gamma", side, "mean"), (), self._outputs("gamma", side), variant, people)

    def _people(self, *path: str) -> Figure | None:
        """Return the figure of the reference's annotators among themselves."""
        return AgreementView(self.ceiling).figure(*path) if self.ceiling else None

    @property
    def _rules(self) -> str:
        reference, hypothesis = self.result["reference"]["rule"], self.result["hypothesis"]["rule"]
        rules: str = _("rules: %(reference)s, %(hypothesis)s", reference=reference, hypothesis=hypothesis)
        return rules

    def _outputs(self, *path: str) -> str:
        """Say over how many of the outputs a mean is taken."""
        number = self.figure(*path, "outputs").value
        if number is None:
            return ""
        counts = {"number": format_decimal(number), "all": format_decimal(self.result["outputs"])}
        if number > self.result["outputs"]:  # an output counts once for every pair of annotators
            return str(_("mean over %(number)s comparisons of %(all)s outputs", **counts))
        return str(_("mean over %(number)s of %(all)s outputs", **counts))


def _heat_row(label: str, counts: Sequence[int]) -> HeatRow:
    total = sum(counts)
    shares = [count / total if total else None for count in counts]
    cells = [
        HeatCell(count, share, round(HEAT_LEVELS * (share or 0))) for count, share in zip(counts, shares, strict=True)
    ]
    return HeatRow(label, cells, total)
