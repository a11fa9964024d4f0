"""How the measures grow: many outputs, and one text with many spans. Run ``python -m bench.metric_growth``."""

import argparse
import resource
import time

from bench.published_annotations import made
from spanplat.metrics import agreement_report
from spanplat.metrics.mathet import gamma_disorders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--outputs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--jobs", type=int, default=2, help="processes for γ (default 2)")
    arguments = parser.parse_args()
    for outputs in arguments.outputs:
        pair = made(outputs)
        begin = time.perf_counter()
        agreement_report(pair, with_gamma=False)
        families = time.perf_counter() - begin
        begin = time.perf_counter()
        gamma_disorders((pair.hypothesis, pair.reference), n_jobs=arguments.jobs)
        gammas = time.perf_counter() - begin
        peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        memory = max(peaks) / 1024
        print(
            f"{outputs:>7,} outputs: everything but γ {families:6.2f} s ({families / outputs * 1e6:.0f} µs each), "
            f"γ {gammas:6.2f} s ({gammas / outputs * 1e6:.0f} µs each), {memory:,.0f} MB in the largest process"
        )
    crowded = made(1, spans_per_output=300)
    begin = time.perf_counter()
    agreement_report(crowded)
    print(
        f"one text with {crowded.reference.n_spans} and {crowded.hypothesis.n_spans} spans: {time.perf_counter() - begin:.2f} s"
    )


if __name__ == "__main__":
    main()
