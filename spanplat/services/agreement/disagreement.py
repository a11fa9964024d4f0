"""Disagreements of two campaigns: outputs sorted by disagreement, with filters by cluster type, category pair and text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from spanplat.db.cache import DatabaseCache
from spanplat.errors import InvalidInput
from spanplat.metrics import Comparison, char, confusion
from spanplat.metrics.disagreement import DISAGREEMENTS, TYPES, Clusters, ClusterType, cluster_spans
from spanplat.metrics.spans import BoolArray, FloatArray, IntArray
from spanplat.models import Output
from spanplat.services.agreement.comparison import AgreementOptions, load_sides, make_request
from spanplat.services.agreement.sides import Alignment, Rule, Side, Work, align, align_annotators
from spanplat.services.background import SignedRequest
from spanplat.services.datasets import contains

NO_PARTNER = "-"
"""Placeholder for the category of a side without a span. No category has this key or name."""

CACHED_COMPARISONS = 4
"""Number of cached comparisons per database. A comparison holds all spans of both sides."""
MOST_SEARCHES_KEPT = 8
"""Number of cached text searches per comparison."""

_cache: DatabaseCache[str, "Disagreements"] = DatabaseCache(CACHED_COMPARISONS)


@dataclass(frozen=True, eq=False)
class Pairing:
    """Pairs of spans as the confusion matrix counts them: one entry per pair, and one per span without a partner.

    All arrays have the shape (entries,). A missing partner has the code ``len(categories)``.
    """

    reference: IntArray
    """Category of the reference span."""
    hypothesis: IntArray
    """Category of the hypothesis span."""
    clusters: tuple[IntArray, IntArray]
    """Clusters of the two spans; the same cluster twice for a single span. The two clusters may differ: the matrix pairs a reference
    span with the first hypothesis span that overlaps it most, even if a later one is equal to it."""


@dataclass(frozen=True)
class DisagreementFilter:
    """Filter for clusters and outputs."""

    kind: ClusterType | None = None
    reference_category: str = ""
    """Key or name of a category, or `NO_PARTNER`. Empty means any category."""
    hypothesis_category: str = ""
    text: str = ""
    """Text that the output must contain. Case does not matter."""

    @property
    def names_clusters(self) -> bool:
        """Whether the filter selects by cluster."""
        return bool(self.kind or self.reference_category or self.hypothesis_category)


@dataclass(frozen=True, eq=False)
class Disagreements:
    """Comparison of two sides on all outputs that both completed. Row ``i`` compares two annotations of one output."""

    signature: str
    categories: Mapping[str, str]
    """Names by key, in the order of the category codes."""
    reference: tuple[Work, ...]
    hypothesis: tuple[Work, ...]
    pair: Comparison
    clusters: Clusters
    pairing: Pairing
    f1: FloatArray
    """Character F1 (same category) of each row. It is 1 if neither side has a span."""
    order: IntArray
    """All rows, largest disagreement first."""
    rows_of_output: Mapping[int, list[int]] = field(repr=False)
    searched: dict[str, BoolArray] = field(default_factory=dict, repr=False)
    """Results of recent text searches: a mask of rows by search text. They stay valid, because stored texts never change."""

    @property
    def n_outputs(self) -> int:
        """Number of different outputs. There are more rows than outputs if several annotators are compared."""
        return len(self.rows_of_output)

    @property
    def differing(self) -> IntArray:
        """Number of clusters in which the sides differ, for each row."""
        counts: IntArray = self.clusters.counts[:, [TYPES.index(kind) for kind in DISAGREEMENTS]].sum(axis=1)
        return counts

    def code_of(self, category: str) -> int:
        """Return the code of a category, given its key or name.

        Raises
        ------
        InvalidInput
            If there is no such category.
        """
        if category == NO_PARTNER:
            return len(self.categories)
        # Keys come first: they are unique, and a name may be the key of another category.
        for names in (list(self.categories), list(self.categories.values())):
            if category in names:
                return names.index(category)
        known = ", ".join(self.categories)
        raise InvalidInput(f"neither campaign has a category {category!r} (categories: {known})")


@dataclass(frozen=True, eq=False)
class Selection:
    """Rows and clusters that match a filter."""

    rows: IntArray
    """Rows, largest disagreement first."""
    clusters: BoolArray
    """Mask of the matching clusters, shape (clusters,)."""
    by_type: Mapping[ClusterType, int]
    """Number of clusters of each type that match everything but the filter's type."""
    pairs: int
    """Number of matching pairs in the confusion matrix."""


def find_disagreements(
    session: Session, reference: str, hypothesis: str, options: AgreementOptions | None = None
) -> Disagreements:
    """Compare two campaigns output by output.

    Parameters
    ----------
    session
        A reading session.
    reference, hypothesis
        Slugs. The same slug twice compares annotators of one campaign.
    options
        Rules, offsets and filters. The other options do not matter here: empty outputs are always listed.

    Returns
    -------
    Disagreements
        This process caches the most recent comparisons until their data change.

    Raises
    ------
    NotFound
        If there is no such campaign.
    InvalidInput
        If a rule or category is unknown, or the campaigns share no output.
    """
    chosen = options or AgreementOptions()
    # The signature covers every option. Without the others, pages with different seeds share one cached comparison.
    relevant = AgreementOptions(
        chosen.reference_rule, chosen.hypothesis_rule, offsets=chosen.offsets, filters=chosen.filters
    )
    request = make_request(session, reference, hypothesis, relevant)
    return _cache.find(session, request.signature, lambda: _compare(session, request))


def choose(session: Session, found: Disagreements, choice: DisagreementFilter) -> Selection:
    """Apply a filter. Texts are read only if the filter has a text.

    Raises
    ------
    InvalidInput
        If the filter names a category that neither campaign has.
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
    # The two spans of an entry may be in different clusters (see `Pairing.clusters`). Both clusters match then.
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


def _compare(session: Session, request: SignedRequest[AgreementOptions]) -> Disagreements:
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
    # Several rows of one output: the pairs of annotators that a rule compares on it.
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
        # The last key of `lexsort` is the first criterion: F1, then the number of differing clusters, then the output.
        order=np.lexsort((np.array([work.output_id for work in works]), -differing, f1)),
        rows_of_output=rows,
    )


def _align(request: SignedRequest[AgreementOptions], reference: Side, hypothesis: Side) -> Alignment:
    """Align the annotations of both sides. With the rule ``pairs``, concatenate the alignments of all pairs of annotators."""
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
    # One entry for each reference span, then one for each hypothesis span without a partner.
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
    """Return a mask of the rows whose output contains a text."""
    folded = wanted.casefold()
    known = found.searched.get(folded)
    if known is not None:
        # A copy, so that no caller can change the cached mask.
        return known.copy()
    mask = np.zeros(len(found.reference), dtype=np.bool_)
    for output_id in session.scalars(select(Output.id).where(contains(session, wanted))):
        mask[found.rows_of_output.get(output_id, [])] = True
    # Threads share the cached comparison: work on a copy of the keys, and accept that another thread removed one.
    for oldest in list(found.searched)[: 1 - MOST_SEARCHES_KEPT]:
        found.searched.pop(oldest, None)
    found.searched[folded] = mask
    return mask.copy()


def excerpts(session: Session, output_ids: Sequence[int], length: int) -> dict[int, str]:
    """Return the beginning of each output's text, by output."""
    found = session.execute(select(Output.id, func.substr(Output.text, 1, length)).where(Output.id.in_(output_ids)))
    return {output: text for output, text in found}
