"""A reply in the form that the prompt asks for is parsed into the same content."""

from hypothesis import given
from hypothesis import strategies as st

from spanplat.llm.item import AskedItem
from spanplat.llm.prompts.reply_schema import ideal_reply, reply_form
from spanplat.llm.replies import read_reply, rule_of
from tests.llm.replies.asking import defined

TEXT = "Rain 🌧️ and “rain” {not} [here], <b>東京</b> \\n."
CAMPAIGN = defined(
    preset="mqm",
    categories=[{"name": "Wrong"}, {"name": "Not checkable", "subcategories": [{"name": "Never was"}]}],
    severities=[{"name": "Minor"}, {"name": "Very bad"}],
    questions=[{"key": "score", "type": "slider", "label": "Quality"}],
)


@given(
    st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 12)), max_size=5, unique=True), st.integers(0, 100)
)
def test_the_ideal_reply_says_what_it_was_made_of(places: list[tuple[int, int]], score: int) -> None:
    marked = [(start, min(start + length, len(TEXT))) for start, length in places]
    marked = [(start, end) for start, end in marked if TEXT[start:end].strip() and TEXT.count(TEXT[start:end]) == 1]
    spans = [
        {
            "reason": "because",
            "text": TEXT[start:end],
            "category": "Not checkable",
            "subcategory": "Never was",
            "severity": "Very bad",
        }
        for start, end in marked
    ]
    reading = read_reply(ideal_reply(CAMPAIGN, spans, {"score": score}), CAMPAIGN, AskedItem([TEXT]))
    assert [(span.start, span.end) for span in reading.spans] == marked
    assert {(span.category, span.subcategory, span.severity, span.reason, rule_of(span)) for span in reading.spans} <= {
        ("not-checkable", "never-was", "very-bad", "because", "exact")
    }
    assert reading.answers == {"score": score}


def test_the_form_names_the_parts_of_a_span_in_the_order_in_which_a_model_should_think_of_them() -> None:
    assert reply_form(CAMPAIGN) == (
        '{"annotations": [{"reason": "…", "text": "…", "context": "…", "category": "…", "subcategory": "…", "severity": "…"}], '
        '"answers": {"score": "…"}}'
    )
