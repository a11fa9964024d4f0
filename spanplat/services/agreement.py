"""Agreement between two campaigns, or between the annotators of one: choosing what is compared, computing, storing by signature."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from spanplat import __version__
from spanplat.db import Database
from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison
from spanplat.metrics.mathet import GammaOptions
from spanplat.metrics.report import agreement_report, gamma_report
from spanplat.models import AgreementResult, Campaign
from spanplat.models.statements import insert_absent
from spanplat.services.campaigns import find_campaign
from spanplat.services.sides import (
    Alignment,
    Filters,
    Rule,
    Side,
    align,
    align_annotators,
    align_jointly,
    categories_of,
    data_revision,
    load_side,
)


@dataclass(frozen=True)
class AgreementOptions:
    """How two sides are compared; every option is part of the result's signature."""

    reference_rule: str = "first"
    hypothesis_rule: str = "first"
    matching: Literal["optimal", "greedy"] = "optimal"
    empty: Literal["include", "skip"] = "include"
    seed: int = 42
    samples: int = 30
    bootstrap: int = 0
    """Resamples for intervals; none when 0."""
    by: Literal["split", "dataset", "system"] | None = None
    offsets: Literal["received", "resolved"] = "received"
    filters: Filters = field(default_factory=Filters)


@dataclass(frozen=True)
class Request:
    """What is to be computed: two campaigns at a revision of their data, and the options."""

    reference: Campaign
    hypothesis: Campaign
    options: AgreementOptions
    signature: str


def compute_agreement(
    database: Database, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> dict[str, Any]:
    """Return the agreement between two campaigns, computing it unless it is stored for the same data and options.

    Parameters
    ----------
    database
        Where the campaigns are.
    reference, hypothesis
        Slugs; the same one twice compares the annotators of one campaign.
    options
        How to compare.

    Returns
    -------
    dict
        The figures with the two sides, the numbers of outputs, the reasons of undefined figures, and the signature.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If nothing can be compared, with what to do about it.
    """
    with database.reading() as session:
        request = make_request(session, reference, hypothesis, options or AgreementOptions())
        stored = _stored(session, request)
        if stored is not None:
            return stored
        sides, categories = load_sides(session, request)
    result = _compute(request, sides, categories)
    with database.transaction() as session:
        insert_absent(session, AgreementResult, [{"signature": request.signature, "value": result}])
    return result


def stored_agreement(
    session: Session, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> dict[str, Any] | None:
    """Return the agreement if it is stored for the present data, else None; raises as `compute_agreement` does."""
    request = make_request(session, reference, hypothesis, options or AgreementOptions())
    return _stored(session, request)


def make_request(session: Session, reference: str, hypothesis: str, options: AgreementOptions) -> Request:
    """Name a computation: campaigns, revision of their data, options and version, digested into a signature."""
    campaigns = find_campaign(session, reference), find_campaign(session, hypothesis)
    named = {
        "measure": "agreement",
        "reference": [reference, data_revision(session, campaigns[0])],
        "hypothesis": [hypothesis, data_revision(session, campaigns[1])],
        "options": asdict(options),
        "version": __version__,
    }
    digest = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
    parts = [
        "agreement",
        f"ref:{reference}@{named['reference'][1]}",  # type: ignore[index]
        f"hyp:{hypothesis}@{named['hypothesis'][1]}",  # type: ignore[index]
        f"rules:{options.reference_rule},{options.hypothesis_rule}",
        f"matching:{options.matching}",
        f"empty:{options.empty}",
        f"samples:{options.samples}",
        f"seed:{options.seed}",
        f"bootstrap:{options.bootstrap}",
        f"offsets:{options.offsets}",
        f"options:{digest}",
        f"v:{__version__}",
    ]
    return Request(*campaigns, options, "|".join(parts))


def _stored(session: Session, request: Request) -> dict[str, Any] | None:
    stored = select(AgreementResult.value).where(AgreementResult.signature == request.signature)
    value: dict[str, Any] | None = session.scalar(stored)
    return value


def load_sides(session: Session, request: Request) -> tuple[tuple[Side, Side], dict[str, str]]:
    """Load reference and hypothesis (the same object where they are one campaign), and name by key of their categories.

    Raises
    ------
    InvalidInput
        If a filter names a category that neither has.
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


def _compute(request: Request, sides: tuple[Side, Side], categories: dict[str, str]) -> dict[str, Any]:
    reference, hypothesis = sides
    rules = Rule.parse(request.options.reference_rule), Rule.parse(request.options.hypothesis_rule)
    if "all" in (rules[0].name, rules[1].name):
        return _compute_jointly(request, reference, rules[0], hypothesis, rules[1])
    alignments = _alignments(reference, rules[0], hypothesis, rules[1])
    if not alignments:
        raise InvalidInput(_nothing_in_common(reference, hypothesis))
    options = request.options
    if len(alignments) > 1:
        options = replace(options, bootstrap=0)  # an interval of one pair of annotators says nothing about their mean
    reports = [_figures(alignment, reference, hypothesis, categories, options) for alignment in alignments]
    figures = reports[0] if len(reports) == 1 else mean_of_reports(reports)
    if options.bootstrap < request.options.bootstrap:
        figures["undefined"]["intervals"] = "figures that are means over pairs of annotators have no interval"
    compared = {reference.works[row].output_id for alignment in alignments for row in alignment.reference}
    return {
        "reference": _side_of(reference, rules[0], [alignment.reference for alignment in alignments]),
        "hypothesis": _side_of(hypothesis, rules[1], [alignment.hypothesis for alignment in alignments]),
        **figures,
        **_coverage(reference, hypothesis, compared),
        "signature": request.signature,
        "version": __version__,
    }


def _compute_jointly(
    request: Request, reference: Side, reference_rule: Rule, hypothesis: Side, hypothesis_rule: Rule
) -> dict[str, Any]:
    """Compute one γ over all annotators of each output, of both sides together; no other measure takes more than two."""
    joint = align_jointly(reference, reference_rule, hypothesis, hypothesis_rule)
    if not joint.groups:
        raise InvalidInput(_nothing_in_common(reference, hypothesis))
    options = GammaOptions(n_samples=request.options.samples, seed=request.options.seed)
    return {
        "reference": _side_of(reference, reference_rule, [joint.reference_rows]),
        "hypothesis": _side_of(hypothesis, hypothesis_rule, [joint.hypothesis_rows]),
        **gamma_report(joint.groups, options, n_bootstrap=request.options.bootstrap),
        **_coverage(reference, hypothesis, joint.outputs),
        "signature": request.signature,
        "version": __version__,
    }


def _coverage(reference: Side, hypothesis: Side, compared: set[int]) -> dict[str, int]:
    return {
        "outputs": len(compared),
        "outputs_reference_only": len({work.output_id for work in reference.works} - compared),
        "outputs_hypothesis_only": len({work.output_id for work in hypothesis.works} - compared),
    }


def _alignments(reference: Side, reference_rule: Rule, hypothesis: Side, hypothesis_rule: Rule) -> list[Alignment]:
    if "pairs" in (reference_rule.name, hypothesis_rule.name):
        return list(align_annotators(reference, hypothesis))
    alignment = align(reference, reference_rule, hypothesis, hypothesis_rule)
    return [alignment] if len(alignment) else []


def _figures(
    alignment: Alignment, reference: Side, hypothesis: Side, categories: dict[str, str], options: AgreementOptions
) -> dict[str, Any]:
    strata: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
    if options.by is not None:
        names = [getattr(reference.works[row], options.by) for row in alignment.reference]
        strata[options.by] = np.unique(names, return_inverse=True)[1].astype(np.int64)
    pair = Comparison(
        reference.spans.select(alignment.reference),
        hypothesis.spans.select(alignment.hypothesis),
        tuple(categories.values()),
        strata,
    )
    return agreement_report(
        pair,
        matching=options.matching,
        empty=options.empty,
        seed=options.seed,
        n_samples=options.samples,
        n_bootstrap=options.bootstrap,
        by=options.by,
    )


def _side_of(side: Side, rule: Rule, rows: Sequence[np.ndarray[Any, np.dtype[np.int64]]]) -> dict[str, Any]:
    used = np.unique(np.concatenate(rows))
    return {"campaign": side.campaign, "rule": str(rule), "spans": int(side.spans.counts[used].sum())}


def _nothing_in_common(reference: Side, hypothesis: Side) -> str:
    for side in (reference, hypothesis):
        if not side.works:
            return f"campaign {side.campaign!r} has no completed annotation of the chosen outputs; finish it, or widen the filters"
    if reference.campaign == hypothesis.campaign:
        return (
            f"campaign {reference.campaign!r} is compared with itself; choose two of its annotators with --ref-rule group=K "
            "--hyp-rule group=L, or the mean over all pairs with --ref-rule pairs"
        )
    return (
        f"{reference.campaign!r} ({len(reference.works)} annotations) and {hypothesis.campaign!r} ({len(hypothesis.works)}) share no "
        "output under these rules and filters; compare campaigns over the same dataset, split and systems"
    )


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
