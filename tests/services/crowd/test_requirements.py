"""Requirements on submitted items; every error message names the span or answer that is wrong."""

from collections.abc import Callable
from typing import Any

import pytest

from spanplat.errors import InvalidInput
from spanplat.schemas.definition import CampaignDefinition
from spanplat.schemas.submission import Submission
from spanplat.services.crowd.requirements import ItemTexts, TextMismatch, check_submission

Define = Callable[..., CampaignDefinition]

TEXT = "It rains 🌧️ today."
TEXTS = ItemTexts((TEXT, "Another output."), {"title": "Weather in Brno"})

CATEGORIES = [
    {"name": "Wrong", "subcategories": [{"name": "Number"}]},
    {"name": "Omission", "side": "source"},
    {"name": "Anywhere", "side": "both"},
    {"name": "Gibberish", "exclusive": True},
]
OPTIONS = ["Good", "Fair", "Bad"]
QUESTIONS = [
    {"type": "choice", "label": "Grade", "options": OPTIONS},
    {"type": "choices", "label": "Faults", "options": OPTIONS, "minimum": 2, "required": False},
    {"type": "likert", "label": "Fluency", "points": 5, "required": False},
    {"type": "slider", "label": "Score", "minimum": 10, "maximum": 20, "required": False},
    {"type": "text", "label": "Comment", "max_length": 5},
    {"type": "checkbox", "label": "Sure"},
    {"type": "preference", "label": "Better", "required": False},
    {"type": "preference", "label": "Clearer", "tie": True, "required": False},
]


def span(start: int = 0, end: int = 2, category: str = "wrong", **more: Any) -> dict[str, Any]:
    text = more.pop("of", TEXT)[start:end]
    return {"start": start, "end": end, "category": category, "text": text} | more


def submission(*spans: dict[str, Any], status: str = "draft", answers: dict[str, Any] | None = None) -> Submission:
    return Submission.model_validate({"revision": 0, "status": status, "spans": spans, "answers": answers or {}})


@pytest.fixture
def campaign(define: Define) -> CampaignDefinition:
    return define(categories=CATEGORIES, severities=[{"name": "Minor"}, {"name": "Major"}])


@pytest.mark.parametrize(
    ("spans", "reason"),
    [
        ([span(category="none")], r"span 1: there is no category 'none' \(categories: wrong, omission, anywhere, gibberish\)"),
        ([span(category="Wrong")], "span 1: there is no category 'Wrong'"),
        ([span(), span(category="omission")], "span 2: “Omission” is marked in the source, not in the output"),
        ([span(side="source", field="title", of="Weather in Brno")], "span 1: “Wrong” is marked in the output, not in the source"),
        ([span(category="omission", side="source", field="none")], "span 1: the source has no field 'none'"),
        ([span(category="omission", side="source")], "span 1: the source has no field None"),
        ([span(output=2)], r"span 1: the item has 2 output\(s\), counted from 0, so there is no 2"),
        ([span(3, 99)], rf"span 1: \[3, 99\) does not lie in the text, which has {len(TEXT)} characters"),
        ([span(5, 3)], r"span 1: \[5, 3\) does not lie in the text"),
        ([span(4, 4)], "span 1: it is empty, and this campaign has no omission marks"),
        ([span(severity="huge")], "span 1: there is no severity 'huge'"),
        ([span(subcategory="name")], "span 1: “Wrong” has no subcategory 'name'"),
        ([span(category="gibberish")], "span 1: “Gibberish” covers the whole text"),
        ([span(), span(0, len(TEXT), "gibberish")], "span 2: “Gibberish” stands alone"),
    ],
)  # fmt: skip
def test_a_span_that_the_campaign_does_not_allow_is_refused(
    campaign: CampaignDefinition, spans: list[dict[str, Any]], reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        check_submission(campaign, TEXTS, submission(*spans))


@pytest.mark.parametrize(
    "spans",
    [
        [span(9, 11)],
        [span(0, 15, "gibberish", of="Another output.", output=1)],
        [span(0, 7, "omission", of="Weather in Brno", side="source", field="title")],
        [span(0, 7, "anywhere", of="Weather in Brno", side="source", field="title"), span(0, 7, "anywhere")],
        [span(severity="minor", subcategory="number"), span(), span()],
    ],
)
def test_a_span_that_the_campaign_allows_is_taken(campaign: CampaignDefinition, spans: list[dict[str, Any]]) -> None:
    check_submission(campaign, TEXTS, submission(*spans))


def test_offsets_counted_as_a_browser_does_are_noticed(campaign: CampaignDefinition) -> None:
    shifted = span(12, 17) | {"text": TEXT[11:16]}
    with pytest.raises(TextMismatch, match=r"span 1: the text at \[12, 17\) is 'today', not ' toda'.*Reload the page"):
        check_submission(campaign, TEXTS, submission(shifted))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"none": 1}, "answers.none: the campaign asks no such question"),
        ({"grade": "great"}, "answers.grade: 'great' is not one of good, fair, bad"),
        ({"grade": ["good"]}, "answers.grade: .* is not one of"),
        ({"faults": "good"}, "answers.faults: must be a list of options"),
        ({"faults": ["good", "great"]}, "answers.faults: 'great' is not one of"),
        ({"faults": ["good", "good"]}, "answers.faults: names an option twice"),
        ({"fluency": 6}, "answers.fluency: must lie between 1 and 5"),
        ({"fluency": 2.5}, "answers.fluency: must be a whole number"),
        ({"fluency": True}, "answers.fluency: must be a whole number"),
        ({"score": 9}, "answers.score: must lie between 10 and 20"),
        ({"score": "12"}, "answers.score: must be a number"),
        ({"comment": "123456"}, "answers.comment: must be text of at most 5 characters"),
        ({"comment": 1}, "answers.comment: must be text"),
        ({"sure": "yes"}, "answers.sure: must be true or false"),
        ({"better": "tie"}, "answers.better: 'tie' is not one of first, second"),
        ({"clearer": "third"}, "answers.clearer: 'third' is not one of first, second, tie"),
    ],
)
def test_an_answer_that_is_none_is_refused(define: Define, answers: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        check_submission(define(questions=QUESTIONS), TEXTS, submission(answers=answers))


def test_answers_of_every_kind_are_taken(define: Define) -> None:
    answers = {
        "grade": "fair",
        "faults": ["good", "bad"],
        "fluency": 5,
        "score": 12.5,
        "comment": "ok",
        "sure": False,
        "better": "first",
        "clearer": "tie",
    }
    definition = define(questions=QUESTIONS)
    check_submission(definition, TEXTS, submission(answers=answers, status="complete"))
    check_submission(definition, TEXTS, submission(answers=dict.fromkeys(answers)))


@pytest.mark.parametrize(
    ("parts", "sent", "reason"),
    [
        ({"questions": QUESTIONS[:1]}, submission(status="complete"), "answer “Grade”"),
        (
            {"questions": [{"type": "text", "label": "Why", "required": True}]},
            submission(status="complete", answers={"why": "  "}),
            "answer “Why”",
        ),
        (
            {"questions": QUESTIONS[1:2]},
            submission(status="complete", answers={"faults": ["bad"]}),
            "choose at least 2 answers to “Faults”",
        ),
        (
            {"severities": [{"name": "Minor"}]},
            submission(span(), status="complete"),
            "choose the severity of span 1 (“It”)",
        ),
        (
            {"spans": {"reason": "required"}},
            submission(span(reason=" "), status="complete"),
            "give a reason for span 1 (“It”)",
        ),
        (
            {"questions": [{"type": "no_errors", "label": "Fine"}]},
            submission(status="complete"),
            "mark a span, or tick “Fine”",
        ),
        (
            {"questions": [{"type": "no_errors", "label": "Fine"}]},
            submission(span(), status="complete", answers={"fine": True}),
            "untick “Fine”, or remove the spans",
        ),
    ],
)
def test_a_complete_item_lacks_nothing_and_a_draft_may(
    define: Define, parts: dict[str, Any], sent: Submission, reason: str
) -> None:
    definition = define(**parts)
    with pytest.raises(InvalidInput) as refused:
        check_submission(definition, TEXTS, sent)
    assert str(refused.value) == reason
    check_submission(definition, TEXTS, sent.model_copy(update={"status": "draft"}))


def test_what_is_missing_is_told_at_once(define: Define) -> None:
    definition = define(questions=[QUESTIONS[0]], severities=[{"name": "Minor"}])
    with pytest.raises(
        InvalidInput, match=r"answer “Grade”; choose the severity of span 1 .*; choose the severity of span 2"
    ):
        check_submission(definition, TEXTS, submission(span(), span(), status="complete"))


def test_overlap_is_shared_characters_on_one_side_of_one_output(define: Define) -> None:
    definition = define(categories=CATEGORIES, spans={"overlap": "forbid", "omissions": True})
    apart = [
        span(0, 4),
        span(4, 6),
        span(0, 4, of="Another output.", output=1),
        span(0, 4, "anywhere", of="Weather in Brno", side="source", field="title"),
        span(2, 2),
    ]
    check_submission(definition, TEXTS, submission(*apart))
    with pytest.raises(InvalidInput, match="spans 1 and 6 overlap, which this campaign does not allow"):
        check_submission(definition, TEXTS, submission(*apart, span(3, 4)))


ATTRIBUTES = [
    {"type": "text", "label": "Correction", "required": True, "max_length": 5},
    {"type": "choice", "label": "Confidence", "options": ["Sure", "Unsure"]},
    {"type": "checkbox", "label": "Seen twice"},
]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            {"size": 1},
            r"span 1: the campaign asks for no attribute 'size' \(attributes: correction, confidence, seen-twice\)",
        ),
        ({"correction": "longer"}, r"span 1: attributes\.correction: must be text of at most 5 characters"),
        ({"confidence": "maybe"}, r"span 1: attributes\.confidence: 'maybe' is not one of sure, unsure"),
        ({"seen-twice": "yes"}, r"span 1: attributes\.seen-twice: must be true or false"),
    ],
)
def test_an_attribute_is_one_the_campaign_asks_for(define: Define, attributes: dict[str, Any], message: str) -> None:
    campaign = define(categories=CATEGORIES, spans={"attributes": ATTRIBUTES})
    with pytest.raises(InvalidInput, match=message):
        check_submission(campaign, TEXTS, submission(span(attributes=attributes)))


@pytest.mark.parametrize("attributes", [None, {}, {"correction": " "}, {"confidence": "sure"}])
def test_a_complete_item_has_every_required_attribute(define: Define, attributes: dict[str, Any] | None) -> None:
    campaign = define(categories=CATEGORIES, spans={"attributes": ATTRIBUTES})
    check_submission(campaign, TEXTS, submission(span(attributes=attributes)))
    with pytest.raises(InvalidInput, match="answer “Correction” for span 1 \\(“It”\\)"):
        check_submission(campaign, TEXTS, submission(span(attributes=attributes), status="complete"))


def test_attributes_that_are_as_asked_for_are_taken(define: Define) -> None:
    campaign = define(categories=CATEGORIES, spans={"attributes": ATTRIBUTES})
    given = {"correction": "snows", "confidence": "unsure", "seen-twice": True}
    check_submission(campaign, TEXTS, submission(span(attributes=given), status="complete"))


def test_a_box_that_must_be_ticked_is_answered_by_ticking_it(define: Define) -> None:
    campaign = define(questions=[{"type": "checkbox", "label": "I read it", "key": "read", "required": True}])
    for answers in ({}, {"read": False}):
        with pytest.raises(InvalidInput, match="answer “I read it”"):
            check_submission(campaign, TEXTS, submission(status="complete", answers=answers))
    check_submission(campaign, TEXTS, submission(status="complete", answers={"read": True}))
