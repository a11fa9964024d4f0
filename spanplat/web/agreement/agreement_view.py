"""View of the agreement of two campaigns: cards, tables, and the confusion matrix as a heat map."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flask_babel import format_decimal
from flask_babel import gettext as _

from spanplat.metrics import PRECISION_RECALL
from spanplat.metrics.measure import Explanation, Variant
from spanplat.services.agreement.disagreement import NO_PARTNER
from spanplat.services.agreement.report import (
    SHOWS_MICRO_AT_THE_TOP,
    AgreementReport,
    HumanCeiling,
    HypothesisOnSameOutputs,
    Interval,
)
from spanplat.web.agreement.explanations import EXPLANATIONS
from spanplat.web.agreement.measures import precision_recall_rows, ranking_explanation, ranking_title, row_title
from spanplat.web.formatting import figure

# Shades in the style sheet: `.heat-1` to `.heat-9`.
HEAT_LEVELS = 9

PRF = ("precision", "recall", "f1")


@dataclass(frozen=True)
class Figure:
    """One number, or the ``reason`` why it is undefined."""

    value: float | None
    reason: str = ""
    low: float | None = None
    """Bounds of the confidence interval, if there is one."""
    high: float | None = None
    pending: bool = False
    """Whether it is not computed yet."""
    awaits_interval: bool = False


@dataclass(frozen=True)
class Card:
    """One headline figure with its name, rules and explanation."""

    measure: str
    """Name of the measure in leaderboards."""
    figure: Figure
    parts: Sequence[tuple[str, Figure]] = ()
    note: str = ""
    variant: str = ""
    """Rules and parameters behind the figure."""
    people: Figure | None = None
    """The same figure for the reference's annotators among themselves, if there are several."""

    @property
    def title(self) -> str:
        """The name of the measure."""
        return ranking_title(self.measure)

    @property
    def explanation(self) -> Explanation:
        """The text behind the card's ⓘ."""
        return ranking_explanation(self.measure)


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
        """Return the table without columns that the result does not contain. Figures that are undefined for a reason stay."""
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
    """One cell of the confusion matrix; ``level`` is its shade, from its share of the row."""

    count: int
    share: float | None
    level: int


@dataclass(frozen=True)
class HeatRow:
    """Row of one category of the reference."""

    label: str
    cells: Sequence[HeatCell]
    total: int


class AgreementView:
    """One agreement result as the page shows it.

    Parameters
    ----------
    result
        The report with its finished stages.
    pending
        Stages that are not computed yet.
    has_company
        Whether the reference has several annotators, who can be compared among themselves.
    """

    def __init__(self, result: AgreementReport, pending: Collection[str] = (), *, has_company: bool = False) -> None:
        self.result = result
        self.pending = pending
        self.awaits_people = has_company and "ceiling" in pending

    def figure(self, path: str, value: float | None) -> Figure:
        """Return a figure with its interval, or the reason why it is undefined, by its path such as ``char.hard.f1``."""
        # A reason may be given for a whole group of figures, so the longest prefix with a reason counts.
        names = path.split(".")
        prefixes = (".".join(names[:length]) for length in range(len(names), 0, -1))
        reason = next((self.result.undefined[prefix] for prefix in prefixes if prefix in self.result.undefined), "")
        low, high = self.result.intervals.get(path, (None, None))
        pending = path.startswith("gamma") and "gamma" in self.pending
        return Figure(value, reason, low, high, pending, awaits_interval="intervals" in self.pending)

    @property
    def cards(self) -> list[Card]:
        """The headline figures."""
        return [
            self._char_card("hard"),
            self._char_card("soft"),
            self._gamma_card("hard"),
            self._gamma_card("soft"),
            self._s_empty_card,
            self._pearson_card,
        ]

    @property
    def ceiling(self) -> HumanCeiling | None:
        """The agreement of the reference's annotators among themselves; None if no two share an output."""
        return self.result.ceiling

    @property
    def against_people(self) -> str:
        """A sentence that compares the hypothesis with the agreement of people on the same outputs; empty without people."""
        if self.ceiling is None:
            return ""
        people, own = (_char_f1(part, "hard") for part in (self.ceiling, self.ceiling.hypothesis))
        words = {
            "reference": self.result.reference.campaign,
            "hypothesis": self.result.hypothesis.campaign,
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
        """The most frequent confusion: category of the reference, of the hypothesis (`NO_PARTNER` for none), and number."""
        confusion = self.result.confusion
        if confusion is None:
            return None
        # The last label stands for spans without a partner. Links to the explorer write it as `NO_PARTNER`.
        labels = [*confusion.labels[:-1], NO_PARTNER]
        cells = [
            (labels[row], labels[column], number)
            for row, numbers in enumerate(confusion.matrix)
            for column, number in enumerate(numbers)
            if row != column and number
        ]
        return max(cells, key=lambda cell: cell[2], default=None)

    @property
    def by_category(self) -> FigureTable:
        """Characters, counts and γ of each category."""
        result = self.result
        names = result.per_category or (result.pearson.per_category if result.pearson else {})
        columns = [_("Precision"), _("Recall"), _("F1 (characters)"), _("ρ (counts)"), _("γ")]
        return FigureTable(
            columns, [FigureRow(name, self._of_category(name)) for name in names]
        ).without_empty_columns()

    @property
    def families(self) -> list[FigureRow]:
        """All measures of precision, recall and F1 in the result, first for the same category, then for any category."""
        return [
            FigureRow(
                name,
                [
                    self.figure(f"{path}.{part}", getattr(scores.micro, part))
                    for path, scores in ((_micro_path(name, "hard"), own.hard), (_micro_path(name, "soft"), own.soft))
                    for part in PRF
                ],
                row_title(measure),
            )
            for name, measure in PRECISION_RECALL.items()
            if (own := self.result.measures.get(name)) is not None
        ]

    @property
    def about_categories(self) -> list[tuple[str, Explanation]]:
        """Explanations of the columns of the table by category."""
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
        """Explanations of the measures of precision, recall and F1."""
        return precision_recall_rows(row.name for row in self.families)

    @property
    def confusion(self) -> list[HeatRow]:
        """The rows of the confusion matrix, shaded by the share of each row."""
        confusion = self.result.confusion
        if confusion is None:
            return []
        return [_heat_row(label, counts) for label, counts in zip(confusion.labels, confusion.matrix, strict=True)]

    def _char_card(self, side: Variant) -> Card:
        char = self.result.measures.get("char")
        scores = None if char is None else (char.hard if side == "hard" else char.soft).micro
        headline = self.figure(f"char.{side}.f1", scores.f1 if scores else None)
        parts = [
            (_("precision"), self.figure(f"char.{side}.precision", scores.precision if scores else None)),
            (_("recall"), self.figure(f"char.{side}.recall", scores.recall if scores else None)),
        ]
        if side == "soft":
            parts.append(("Δ", self.figure("char.delta", char.delta if char else None)))
        people = _char_f1(self.ceiling, side) if self.ceiling else None
        return Card(f"char.{side}", headline, parts, variant=self._rules, people=people)

    def _gamma_card(self, side: Variant) -> Card:
        gamma, path = self.result.gamma, f"gamma.{side}.mean"
        if gamma is None:
            return Card(f"gamma.{side}", self.figure(path, None), variant=self._rules)
        own = gamma.hard if side == "hard" else gamma.soft
        parameters = {
            "α": gamma.alpha,
            "β": gamma.beta,
            "Δ∅": gamma.delta_empty,
            _("samples"): gamma.samples,
            _("seed"): gamma.seed,
        }
        variant = "; ".join([self._rules, *(f"{name} {value:g}" for name, value in parameters.items())])
        people = None
        if self.ceiling:
            mean = (self.ceiling.gamma.hard if side == "hard" else self.ceiling.gamma.soft).mean
            people = _people_figure(self.ceiling.intervals, path, mean)
        return Card(f"gamma.{side}", self.figure(path, own.mean), (), self._outputs(own.outputs), variant, people)

    @property
    def _s_empty_card(self) -> Card:
        own, path = self.result.s_empty, "s_empty.mean"
        people = _people_figure(self.ceiling.intervals, path, self.ceiling.s_empty.mean) if self.ceiling else None
        headline = self.figure(path, own.mean if own else None)
        note = self._outputs(own.outputs) if own else ""
        return Card("s_empty", headline, note=note, variant=self._rules, people=people)

    @property
    def _pearson_card(self) -> Card:
        own, path = self.result.pearson, "pearson.micro"
        people = _people_figure(self.ceiling.intervals, path, self.ceiling.pearson.micro) if self.ceiling else None
        parts = [(_("macro"), self.figure("pearson.macro", own.macro if own else None))]
        return Card("pearson", self.figure(path, own.micro if own else None), parts, variant=self._rules, people=people)

    def _of_category(self, name: str) -> list[Figure]:
        """Characters, counts and γ of one category."""
        result = self.result
        own = (result.per_category or {}).get(name)
        scores = own.scores["char"] if own else None
        counts = result.pearson.per_category.get(name) if result.pearson else None
        gamma = (result.gamma_per_category or {}).get(name)
        return [
            *(
                self.figure(f"per_category.{name}.char.{part}", getattr(scores, part) if scores else None)
                for part in PRF
            ),
            self.figure(f"pearson.per_category.{name}", counts),
            self.figure(f"gamma_per_category.{name}.mean", gamma.mean if gamma else None),
        ]

    @property
    def _rules(self) -> str:
        reference, hypothesis = self.result.reference.rule, self.result.hypothesis.rule
        rules: str = _("rules: %(reference)s, %(hypothesis)s", reference=reference, hypothesis=hypothesis)
        return rules

    def _outputs(self, number: int) -> str:
        """Return the number of outputs of a mean, in words."""
        counts = {"number": format_decimal(number), "all": format_decimal(self.result.outputs)}
        if number > self.result.outputs:  # pairs of annotators are counted, so an output may count several times
            return str(_("mean over %(number)s comparisons of %(all)s outputs", **counts))
        return str(_("mean over %(number)s of %(all)s outputs", **counts))


def _char_f1(part: HumanCeiling | HypothesisOnSameOutputs, side: Variant) -> Figure:
    scores = part.char.hard if side == "hard" else part.char.soft
    return _people_figure(part.intervals, f"char.{side}.f1", scores.micro.f1)


def _people_figure(intervals: Mapping[str, Interval], path: str, value: float | None) -> Figure:
    low, high = intervals.get(path, (None, None))
    return Figure(value, low=low, high=high)


def _micro_path(measure: str, side: Variant) -> str:
    """Return the path of the reasons and intervals of a measure's micro average."""
    return f"{measure}.{side}" if measure == SHOWS_MICRO_AT_THE_TOP else f"{measure}.{side}.micro"


def _heat_row(label: str, counts: Sequence[int]) -> HeatRow:
    total = sum(counts)
    shares = [count / total if total else None for count in counts]
    cells = [
        HeatCell(count, share, round(HEAT_LEVELS * (share or 0))) for count, share in zip(counts, shares, strict=True)
    ]
    return HeatRow(label, cells, total)
