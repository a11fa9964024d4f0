"""Distribution of agreement over outputs."""

from collections.abc import Callable

from spanplat.db import Database
from spanplat.services.agreement.disagreement import find_disagreements
from spanplat.services.agreement.distributions import CountPair, count_pairs, f1_bins

FIRST, LATER = (0, 6, "Wrong"), (20, 29, "Unclear")


def test_outputs_are_counted_by_their_spans_and_by_their_f1(database: Database, imported: Callable[..., str]) -> None:
    imported("people", ann={0: [FIRST], 1: [FIRST], 2: [], 3: [FIRST, LATER], 4: []})
    imported("model", one={0: [FIRST], 1: [LATER], 2: [], 3: [], 4: []})
    with database.reading() as session:
        found = find_disagreements(session, "people", "model")
    assert sorted(map(repr, count_pairs(found))) == sorted(
        map(repr, [CountPair(0, 0, 2), CountPair(1, 1, 2), CountPair(2, 0, 1)])
    )
    bins = f1_bins(found)
    assert (bins[0].low, bins[0].both, bins[0].one, bins[0].neither) == (0.0, 1, 1, 0)
    assert (bins[-1].high, bins[-1].both, bins[-1].one, bins[-1].neither) == (1.0, 1, 0, 2)
    assert sum(one.outputs for one in bins) == 5


def test_a_bin_begins_with_its_lower_bound(database: Database, imported: Callable[..., str]) -> None:
    imported("people", ann={0: [(0, 3, "Wrong")]})
    imported("model", one={0: [(0, 1, "Wrong"), (5, 8, "Wrong"), (9, 12, "Wrong")]})
    with database.reading() as session:
        filled = [one for one in f1_bins(find_disagreements(session, "people", "model")) if one.outputs]
    assert [(one.low, one.high) for one in filled] == [(0.2, 0.3)]
