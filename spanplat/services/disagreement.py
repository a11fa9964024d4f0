"""Where two campaigns disagree: outputs sorted by disagreement, found by type of cluster, pair of categories, or text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison, char, confusion
from spanplat.metrics.disagreement import DISAGREEMENTS, TYPES, Clusters, ClusterType, cluster_spans
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray
from spanplat.models import Output
from spanplat.services.agreement import AgreementOptions, load_sides, make_request
from spanplat.services.kept import Kept
from spanplat.services.results import Request
from spanplat.services.search import contains
from spanplat.services.sides import Alignment, Rule, Side, Work, align, align_annotators

NO_PARTNER = "-"
"""Stands for the category of the side that marked nothing; no key or name of a category looks like this."""

MOST_KEPT = 4
MOST_SEARCHES_KEPT = 8

_kept: Kept[str, "Disagreements"] = Kept(MOST_KEPT)


@dataclass(frozen=True, eq=False)
class Pairing:
    """Spans paired as the confusion matrix counts them: one entry for each pair and for each span without partner.

    All arrays have the shape (entries,). A missing partner has the code ``len(categories)``.
    """

    reference: IntArray
    """Category of the reference span."""
    hypothesis: IntArray
    """Category of the hypothesis span."""
    clusters: tuple[IntArray, IntArray]
    """The clusters of the two spans, twice the same where there is one span. They may differ: the matrix gives a reference span to
    the first hypothesis span that overlaps it most, even if a later one is its equal."""


@dataclass(frozen=True)
class Choice:
    """Which clusters and outputs somebody wants to see."""

    kind: ClusterType | None = None
    reference_category: str = ""
    """Key or name of a category, or `NO_PARTNER`; any when empty."""
    hypothesis_category: str = ""
    text: str = ""
    """What the output's text must contain, in whatever case."""

    @property
    def names_clusters(self) -> bool:
        """Whether only outputs with certain clusters are wanted."""
        return bool(self.kind or self.reference_category or self.hypothesis_category)


@dataclass(frozen=True, eq=False)
class Disagreements:
    """Two sides on all outputs that both completed; row ``i`` of everything is one comparison of two annotations of one output."""

    signature: str
    categories: Mapping[str, str]
    """Names by key, in the order of the category codes."""
    reference: tuple[Work, ...]
    hypothesis: tuple[Work, ...]
    pair: Comparison
    clusters: Clusters
    pairing: Pairing
    f1: FloatArray
    """Character F1 (same category) of each row; 1 where neither side marked anything."""
    order: IntArray
    """All rows, the greatest disagreement first."""
    rows_of_output: Mapping[int, list[int]] = field(repr=False)
    searched: dict[str, BoolArray] = field(default_factory=dict, repr=False)
    """Which rows are about a text that contains a word searched for recently; stored texts never change."""

    @property
    def n_outputs(self) -> int:
        """Number of different outputs; fewer than rows where several annotators are compared."""
        return len(self.rows_of_output)

    @property
    def differing(self) -> IntArray:
        """Number of clusters in which the sides differ, by row."""
        counts: IntArray = self.clusters.counts[:, [TYPES.index(kind) for kind in DISAGREEMENTS]].sum(axis=1)
        return counts

    def code_of(self, category: str) -> int:
        """Return the code of a category named by key or name.

        Raises
        ------
        InvalidInput
            If there is no such category.
        """
        if category == NO_PARTNER:
            return len(self.categories)
        for names in (list(self.categories), list(self.categories.values())):
            if category in names:
                return names.index(category)
        known = ", ".join(self.categories)
        raise InvalidInput(f"neither campaign has a category {category!r} (categories: {known})")


@dataclass(frozen=True, eq=False)
class Selection:
    """What a choice leaves."""

    rows: IntArray
    """The greatest disagreement first."""
    clusters: BoolArray
    """Which clusters are wanted, shape (clusters,)."""
    by_type: Mapping[ClusterType, int]
    """Clusters of each type among the rows chosen without regard to type."""
    pairs: int
    """Entries of the confusion matrix that are wanted."""


def find_disagreements(
    session: Session, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> Disagreements:
    """Compare two campaigns output by output.

    Parameters
    ----------
    session
        A reading session.
    reference, hypothesis
        Slugs; the same one twice compares annotators of one campaign.
    options
        Rules, offsets and filters. How empty outputs are treated does not matter here: all are listed.

    Returns
    -------
    Disagreements
        Kept in this process for as long as the data stay the same and few others are asked for.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If a rule or category is unknown, or the campaigns share no output.
    """
    chosen = options or AgreementOptions()
    relevant = AgreementOptions(
        chosen.reference_rule, chosen.hypothesis_rule, offsets=chosen.offsets, filters=chosen.filters
    )
    request = make_request(session, reference, hypothesis, relevant)
    return _kept.find(session, request.signature, lambda: _compare(session, request))


def choose(session: Session, found: Disagreements, choice: Choice) -> Selection:
    """Find the outputs a choice asks for; texts are read only when it asks for a text.

    Raises
    ------
    InvalidInput
        If it names a category that neither campaign has.
    """
    n_rows = len(found.reference)
    in_rows = _containing(session, found, choice.text) if choice.text else np.ones(n_rows, dtype=np.bool_)
    clusters, pairs = found.clusters, found.pairing
    entries = in_rows[clusters.output[pairs.clusters[0]]]
    if choice.reference_category:
        entries &= pairs.reference == found.code_of(choice.reference_category)
    if choice.hypothesis_category:
        entries &= pairs.hypothesis == found.code_of(choice.hypothesis_category)
    paired = np.zeros(len(clusters), dtype=np.bool_)
    for cluster in pairs.clusters:
        paired[cluster[entries]] = True
    by_type = np.bincount(clusters.type_code[paired], minlength=len(TYPES)).tolist()
    wanted = paired if choice.kind is None else paired & (clusters.type_code == TYPES.index(choice.kind))
    if choice.names_clusters:
        in_rows = np.bincount(clusters.output[wanted], minlength=n_rows) > 0
    return Selection(
        found.order[in_rows[found.order]],
        wanted,
        dict(zip(TYPES, by_type, strict=True)),
        int((entries & (wanted[pairs.clusters[0]] | wanted[pairs.clusters[1]])).sum()),
    )


def _compare(session: Session, request: Request[AgreementOptions]) -> Disagreements:
    (reference, hypothesis), categories = load_sides(session, request)
    alignment = _align(request, reference, hypothesis)
    if not len(alignment):
        raise InvalidInput(
            f"{request.reference.slug!r} and {request.hypothesis.slug!r} share no completed output under these rules and filters; "
            "compare campaigns over the same outputs, widen the filters, or choose two annotators of one campaign"
        )
    pair = Comparison(
        reference.spans.select(alignment.reference),
        hypothesis.spans.select(alignment.hypothesis),
        tuple(categories.values()),
    )
    clusters = cluster_spans(pair)
    f1 = char(pair).per_output["f1"]
    differing = clusters.counts.sum(axis=1) - clusters.counts[:, TYPES.index(ClusterType.AGREEMENT)]
    works = [reference.works[row] for row in alignment.reference]
    rows: dict[int, list[int]] = {}
    for row, work in enumerate(works):
        rows.setdefault(work.output_id, []).append(row)
    return Disagreements(
        signature=request.signature,
        categories=categories,
        reference=tuple(works),
        hypothesis=tuple(hypothesis.works[row] for row in alignment.hypothesis),
        pair=pair,
        clusters=clusters,
        pairing=_pairing(pair, clusters),
        f1=f1,
        order=np.lexsort((np.array([work.output_id for work in works]), -differing, f1)),
        rows_of_output=rows,
    )


def _align(request: Request[AgreementOptions], reference: Side, hypothesis: Side) -> Alignment:
    """Put the annotations beside each other; for the mean over pairs of annotators, those of all pairs."""
    rules = Rule.parse(request.options.reference_rule), Rule.parse(request.options.hypothesis_rule)
    if "pairs" not in (rules[0].name, rules[1].name):
        return align(reference, rules[0], hypothesis, rules[1])
    parts = list(align_annotators(reference, hypothesis))
    if not parts:
        return Alignment(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Alignment(
        np.concatenate([part.reference for part in parts]), np.concatenate([part.hypothesis for part in parts])
    )


def _pairing(pair: Comparison, clusters: Clusters) -> Pairing:
    partners = confusion(pair).pairs
    none = pair.n_categories
    hypothesis = np.full(pair.reference.n_spans, none)
    hypothesis[partners[:, 0]] = pair.hypothesis.category[partners[:, 1]]
    alone = np.ones(pair.hypothesis.n_spans, dtype=np.bool_)
    alone[partners[:, 1]] = False
    extra = pair.hypothesis.category[alone]
    partner_cluster = clusters.reference.copy()
    partner_cluster[partners[:, 0]] = clusters.hypothesis[partners[:, 1]]
    return Pairing(
        np.concatenate([pair.reference.category, np.full(len(extra), none)]),
        np.concatenate([hypothesis, extra]),
        (
            np.concatenate([clusters.reference, clusters.hypothesis[alone]]),
            np.concatenate([partner_cluster, clusters.hypothesis[alone]]),
        ),
    )


def _containing(session: Session, found: Disagreements, wanted: str) -> BoolArray:
    """Tell which rows are about a text that contains this."""
    folded = wanted.casefold()
    known = found.searched.get(folded)
    if known is not None:
        return known.copy()
    mask = np.zeros(len(found.reference), dtype=np.bool_)
    for output_id in session.scalars(select(Output.id).where(contains(session, wanted))):
        mask[found.rows_of_output.get(output_id, [])] = True
    for oldest in list(found.searched)[: 1 - MOST_SEARCHES_KEPT]:
        found.searched.pop(oldest, None)
    found.searched[folded] = mask
    return mask.copy()


def excerpts(session: Session, output_ids: Sequence[int], length: int) -> dict[int, str]:
    """Return the beginnings of some outputs' texts, by output."""
    found = session.execute(select(Output.id, func.substr(Output.text, 1, length)).where(Output.id.in_(output_ids)))
    return {output: text for output, text in found}
