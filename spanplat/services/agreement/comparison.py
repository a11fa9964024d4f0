"""Agreement between two campaigns, or between the annotators of one campaign.

The computation has four stages. Each stage is stored under the signature of the request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sqlalchemy.orm import Session

from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison
from spanplat.metrics.gamma_options import GammaOptions
from spanplat.metrics.joint_report import gamma_report
from spanplat.metrics.report import StagedReport
from spanplat.services.agreement.report import AgreementReport
from spanplat.services.agreement.report_means import mean_of_reports
from spanplat.services.agreement.sides import (
    Alignment,
    Filters,
    Rule,
    Side,
    align,
    align_annotators,
    align_jointly,
    align_within,
    categories_of,
    count_annotators,
    count_spans,
    load_side,
    outputs_of,
    restrict,
    third_revision,
)
from spanplat.services.background import (
    Computation,
    OnProgress,
    ResultKind,
    SignedRequest,
    compute,
    ignore_progress,
    part_of,
    sign,
)
from spanplat.services.campaigns import find_campaign
from spanplat.text.counting import count_of

MOST_NAMED = 3
"""Largest number of datasets that a message names."""
SECONDS_PER_SPAN = 1.5e-4
SECONDS_PER_SPAN_OF_ALL = 1e-3
SECONDS_PER_PAIR_OF_ANNOTATORS = 0.02
"""Rough times on one core. Each pair of annotators costs this much, even if they share few outputs."""


@dataclass(frozen=True)
class AgreementOptions:
    """Options of a comparison of two sides. Every option is part of the result's signature."""

    reference_rule: str = "first"
    hypothesis_rule: str = "first"
    matching: Literal["optimal", "greedy"] = "optimal"
    empty: Literal["include", "skip"] = "include"
    seed: int = 42
    samples: int = 30
    bootstrap: int = 0
    """Number of resamples for intervals. With 0 there are no intervals."""
    by: Literal["split", "dataset", "system"] | None = None
    offsets: Literal["received", "resolved"] = "received"
    filters: Filters = field(default_factory=Filters)


def compute_agreement(
    database: Database,
    reference: str,
    hypothesis: str,
    options: AgreementOptions | None = None,
    *,
    on_progress: OnProgress = ignore_progress,
) -> AgreementReport:
    """Return the agreement between two campaigns. Compute the stages that are not stored for the same data and options.

    Parameters
    ----------
    database
        The database with the campaigns.
    reference, hypothesis
        Slugs. The same slug twice compares the annotators of one campaign.
    options
        Options of the comparison.
    on_progress
        Callback for the progress.

    Returns
    -------
    AgreementReport
        ``ceiling`` compares the reference's annotators with each other. It needs several annotators and the rule first, each or group.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If nothing can be compared. The message says what to do.
    """
    return compute(database, AGREEMENT, (reference, hypothesis), options or AgreementOptions(), on_progress=on_progress)


def make_request(
    session: Session, reference: str, hypothesis: str, options: AgreementOptions
) -> SignedRequest[AgreementOptions]:
    """Return the signed request. The signature covers the campaigns, the revision of their data, the options and the version."""
    return sign(
        session,
        "agreement",
        [find_campaign(session, reference), find_campaign(session, hypothesis)],
        options,
        # The campaign of `shared_with` is neither reference nor hypothesis, so their revisions do not cover its data.
        extra=third_revision(session, options.filters),
        shown=(
            f"rules:{options.reference_rule},{options.hypothesis_rule}",
            f"matching:{options.matching}",
            f"empty:{options.empty}",
            f"samples:{options.samples}",
            f"seed:{options.seed}",
            f"bootstrap:{options.bootstrap}",
            f"offsets:{options.offsets}",
        ),
    )


def load_sides(session: Session, request: SignedRequest[AgreementOptions]) -> tuple[tuple[Side, Side], dict[str, str]]:
    """Load reference and hypothesis, and the names of their categories by key. One campaign on both sides is one object.

    Raises
    ------
    InvalidInput
        If a filter names a category that neither campaign has.
    """
    categories = categories_of(session, [request.reference, request.hypothesis])
    unknown = [name for name in request.options.filters.categories if name not in categories]
    if unknown:
        raise InvalidInput(f"neither campaign has a category {unknown[0]!r} (categories: {', '.join(categories)})")
    resolved = request.options.offsets == "resolved"
    keys, filters = list(categories), request.options.filters
    reference = load_side(session, request.reference, keys, filters, resolved=resolved)
    if request.hypothesis.id == request.reference.id:
        return (reference, reference), categories
    return (reference, load_side(session, request.hypothesis, keys, filters, resolved=resolved)), categories


class AgreementComputation:
    """Computation of the figures of two sides, stage by stage.

    Parameters
    ----------
    sides
        Reference and hypothesis. One campaign on both sides is one object.
    categories
        Names by key.
    options
        Options of the comparison.

    Raises
    ------
    InvalidInput
        If nothing can be compared. The message says what to do.
    """

    def __init__(self, sides: tuple[Side, Side], categories: dict[str, str], options: AgreementOptions) -> None:
        self._reference, self._hypothesis = sides
        self._categories = categories
        self._options = options
        self._rules = Rule.parse(options.reference_rule), Rule.parse(options.hypothesis_rule)
        self._alignments = _alignments(self._reference, self._rules[0], self._hypothesis, self._rules[1])
        if not self._alignments:
            raise InvalidInput(_nothing_in_common(self._reference, self._hypothesis))
        self._reports = [self._report(alignment, sides) for alignment in self._alignments]

    def compute(self, stage: str, on_progress: OnProgress) -> dict[str, Any]:
        """Return the figures of a stage."""
        if stage == "headline":
            return self._headline()
        if stage == "gamma":
            return self._gamma(on_progress)
        return self._intervals() if stage == "intervals" else self._ceiling()

    def _headline(self) -> dict[str, Any]:
        compared = {self._reference.works[row].output_id for pairs in self._alignments for row in pairs.reference}
        return {
            "reference": _side_of(self._reference, self._rules[0], [pairs.reference for pairs in self._alignments]),
            "hypothesis": _side_of(self._hypothesis, self._rules[1], [pairs.hypothesis for pairs in self._alignments]),
            **_mean([report.headline() for report in self._reports]),
            **_coverage(self._reference, self._hypothesis, compared),
        }

    def _gamma(self, on_progress: OnProgress) -> dict[str, Any]:
        parts = []
        for place, report in enumerate(self._reports):
            parts.append(report.gamma(part_of(on_progress, place, len(self._reports))))
            on_progress(place + 1, len(self._reports))
        return _mean(parts)

    def _intervals(self) -> dict[str, Any]:
        if len(self._reports) == 1:
            report = self._reports[0]
            # An earlier computation may have stored the stage gamma. Its intervals still need the values of each output.
            if self._options.bootstrap and not report.has_gamma:
                report.gamma()
            return report.intervals(self._options.bootstrap)
        # Each report is one pair of annotators. The interval of one pair is no interval of the mean over all pairs.
        reason = {"intervals": "figures that are means over pairs of annotators have no interval"}
        return {"intervals": {}, "undefined": reason if self._options.bootstrap else {}}

    def _ceiling(self) -> dict[str, Any]:
        """Compare the reference's annotators with each other on the outputs that the hypothesis completed too.

        The result also has the hypothesis's figures on the same outputs. Figures on different outputs are not comparable.
        """
        # With `pairs` and `all` there is no single alignment whose outputs the ceiling could use.
        one_side = {rule.name for rule in self._rules} <= {"first", "each", "group"}
        shared = np.array(sorted({work.output_id for work in self._hypothesis.works}), dtype=np.int64)
        within = restrict(align_within(self._reference, self._rules[0]), self._reference, shared)
        if not one_side or self._reference is self._hypothesis or not len(within):
            return {"ceiling": None}
        report = self._report(within, (self._reference, self._reference))
        figures = {**report.headline(), **report.gamma(), **report.intervals(self._options.bootstrap)}
        kept = {name: figures[name] for name in ("char", "gamma", "s_empty", "pearson", "intervals")}
        outputs = np.unique(outputs_of(self._reference, within.reference))
        same = self._report(
            restrict(self._alignments[0], self._reference, outputs), (self._reference, self._hypothesis)
        )
        own = {**same.headline(), **same.intervals(self._options.bootstrap)}
        # As in `align_within`: one annotator of the reference is compared with each of the others.
        rule = self._rules[0] if self._rules[0].name == "group" else Rule("first")
        return {
            "ceiling": {
                "rules": [str(rule), "each"],
                "outputs": len(outputs),
                **kept,
                "hypothesis": {name: own[name] for name in ("outputs", "char", "intervals")},
            }
        }

    def _report(self, alignment: Alignment, sides: tuple[Side, Side]) -> StagedReport:
        options, strata = self._options, dict[str, np.ndarray[Any, np.dtype[np.int64]]]()
        if options.by is not None:
            # Both rows of a pair belong to one output, so the reference alone names the stratum.
            names = [getattr(sides[0].works[row], options.by) for row in alignment.reference]
            strata[options.by] = np.unique(names, return_inverse=True)[1].astype(np.int64)
        pair = Comparison(
            sides[0].spans.select(alignment.reference),
            sides[1].spans.select(alignment.hypothesis),
            tuple(self._categories.values()),
            strata,
        )
        return StagedReport(
            pair,
            matching=options.matching,
            empty=options.empty,
            by=options.by,
            gamma=GammaOptions(n_samples=options.samples, seed=options.seed),
        )


class JointComputation:
    """Computation of one γ over all annotators of each output, of both sides together.

    The report has only γ, because no other measure takes more than two annotators.
    """

    def __init__(self, sides: tuple[Side, Side], options: AgreementOptions) -> None:
        self._reference, self._hypothesis = sides
        self._options = options
        self._rules = Rule.parse(options.reference_rule), Rule.parse(options.hypothesis_rule)
        self._joint = align_jointly(self._reference, self._rules[0], self._hypothesis, self._rules[1])
        if not self._joint.groups:
            raise InvalidInput(_nothing_in_common(self._reference, self._hypothesis))

    def compute(self, stage: str, on_progress: OnProgress) -> dict[str, Any]:
        """Return the figures of a stage: first the compared sides, then γ with its interval."""
        if stage == "headline":
            return {
                "reference": _side_of(self._reference, self._rules[0], [self._joint.reference_rows]),
                "hypothesis": _side_of(self._hypothesis, self._rules[1], [self._joint.hypothesis_rows]),
                **_coverage(self._reference, self._hypothesis, self._joint.outputs),
            }
        # γ and its interval are one stage here. The other stages have nothing to add.
        if stage != "gamma":
            return {"ceiling": None} if stage == "ceiling" else {}
        options = GammaOptions(n_samples=self._options.samples, seed=self._options.seed)
        report = gamma_report(self._joint.groups, options, n_bootstrap=self._options.bootstrap, on_progress=on_progress)
        # The headline counts the outputs already. The stages are merged into one document.
        del report["outputs"]
        return report


def _coverage(reference: Side, hypothesis: Side, compared: set[int]) -> dict[str, int]:
    return {
        "outputs": len(compared),
        "outputs_reference_only": len({work.output_id for work in reference.works} - compared),
        "outputs_hypothesis_only": len({work.output_id for work in hypothesis.works} - compared),
    }


def _alignments(reference: Side, reference_rule: Rule, hypothesis: Side, hypothesis_rule: Rule) -> list[Alignment]:
    # On either side, the rule compares all annotators of both sides.
    if "pairs" in (reference_rule.name, hypothesis_rule.name):
        return list(align_annotators(reference, hypothesis))
    alignment = align(reference, reference_rule, hypothesis, hypothesis_rule)
    return [alignment] if len(alignment) else []


def _mean(figures: list[dict[str, Any]]) -> dict[str, Any]:
    return figures[0] if len(figures) == 1 else mean_of_reports(figures)


def _side_of(side: Side, rule: Rule, rows: Sequence[np.ndarray[Any, np.dtype[np.int64]]]) -> dict[str, Any]:
    # An annotation that is compared several times counts once.
    used = np.unique(np.concatenate(rows))
    return {"campaign": side.campaign, "rule": str(rule), "spans": int(side.spans.counts[used].sum())}


def _nothing_in_common(reference: Side, hypothesis: Side) -> str:
    for side in (reference, hypothesis):
        if not side.works:
            return f"campaign {side.campaign!r} has no completed annotation of the chosen outputs; finish it, or widen the filters"
    if reference.campaign == hypothesis.campaign:
        return (
            f"campaign {reference.campaign!r} is compared with itself; choose two of its annotators with the rules group=K and "
            "group=L (--ref-rule and --hyp-rule), or the mean over all pairs with the rule pairs"
        )
    return (
        f"{reference.campaign!r} and {hypothesis.campaign!r} share no output under these rules and filters: the first has "
        f"{_contents(reference)}, the second {_contents(hypothesis)}; compare campaigns over the same dataset, split and systems"
    )


def _contents(side: Side) -> str:
    """Return a short description of the outputs that a side annotated."""
    sources = sorted({f"{work.dataset}/{work.split}" for work in side.works})
    more = f" and {len(sources) - MOST_NAMED} more" if len(sources) > MOST_NAMED else ""
    return f"{count_of(len(side.works), 'annotation')} of {', '.join(sources[:MOST_NAMED])}{more}"


def _request(session: Session, campaigns: Sequence[str], options: AgreementOptions) -> SignedRequest[AgreementOptions]:
    return make_request(session, campaigns[0], campaigns[1], options)


def _estimate(session: Session, request: SignedRequest[AgreementOptions]) -> float:
    spans = count_spans(session, request.campaigns)
    rules = {Rule.parse(rule).name for rule in (request.options.reference_rule, request.options.hypothesis_rule)}
    if "pairs" not in rules:
        return spans * (SECONDS_PER_SPAN_OF_ALL if "all" in rules else SECONDS_PER_SPAN)
    # With many annotators the number of pairs decides: each pair is a report of its own.
    annotators = [count_annotators(session, campaign) for campaign in request.campaigns]
    return spans * SECONDS_PER_SPAN + annotators[0] * annotators[1] * SECONDS_PER_PAIR_OF_ANNOTATORS


def _load(session: Session, request: SignedRequest[AgreementOptions]) -> Computation:
    sides, categories = load_sides(session, request)
    if "all" in (request.options.reference_rule, request.options.hypothesis_rule):
        return JointComputation(sides, request.options)
    return AgreementComputation(sides, categories, request.options)


AGREEMENT = ResultKind(
    "agreement",
    {"headline": 0.15, "gamma": 0.45, "intervals": 0.2, "ceiling": 0.2},
    AgreementOptions,
    AgreementReport,
    _request,
    _estimate,
    _load,
)
"""Agreement of two campaigns: quick figures, γ, intervals, and agreement among the reference's annotators."""
