"""Random comparisons for property tests."""

from hypothesis import strategies as st

from spanplat.metrics import Comparison

CATEGORIES = ("wrong", "unclear", "other")
TEXT_LENGTH = 40

Spans = list[tuple[int, int, int]]


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int, int]:
    """One span of at least one character."""
    start = draw(st.integers(0, TEXT_LENGTH - 1))
    end = draw(st.integers(start + 1, TEXT_LENGTH))
    return start, end, draw(st.integers(0, len(CATEGORIES) - 1))


side = st.lists(st.lists(spans(), max_size=4), min_size=3, max_size=3)
"""The spans of one side on three outputs."""

comparisons = st.builds(lambda reference, hypothesis: Comparison.of(reference, hypothesis, CATEGORIES), side, side)
"""Two sides on three outputs."""
