"""Each preset asks for what it claims, and for nothing else. The whole prompts are in ``snapshots``.

After an intended change, write them again with ``SPANPLAT_WRITE_SNAPSHOTS=1 pytest tests/llm/prompts`` and read the difference.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spanplat.errors import InvalidInput
from spanplat.llm.item import AskedItem, ReportedError
from spanplat.llm.prompts import PromptExample, PromptInputs, freeze_prompt, prompt_digest, render_prompt
from spanplat.llm.prompts.library import PRESETS, aspect_library, part_names, part_source
from spanplat.schemas.definition import CampaignDefinition
from tests.llm.replies.asking import defined

SNAPSHOTS = Path(__file__).parent / "snapshots"
SOURCE = {"question": "When does the ferry leave?", "context": "Ferry F2 leaves at 06:40 and at 07:10."}
ITEM = AskedItem(["The ferry leaves at\n\n\n07:40 {{ daily }}."], SOURCE)
CATEGORIES = [
    {
        "name": "Wrong",
        "description": "The source says something else.",
        "examples": ["*leaves at **7***", "another one"],
    },
    {"name": "Unclear"},
]
GUIDELINES = "## What you do\n\nFind what is wrong. Tick the box if there is nothing."
INPUTS = PromptInputs(
    [
        PromptExample(
            {"price": 4.2},
            "A ticket costs 2.40.",
            '{"annotations": [{"reason": "It is 4.20.", "text": "2.40", "category": "Wrong"}]}',
        ),
        PromptExample(None, "Boats float.", '{"annotations": []}'),
    ],
    "Read both. Then move the sliders.",
)
MQM = {
    "categories": [
        {
            "name": "Accuracy",
            "description": "It means something else.",
            "subcategories": [{"name": "Addition"}, {"name": "Mistranslation"}],
        },
        {"name": "Omission", "side": "source"},
        {"name": "Unintelligible", "exclusive": True},
    ],
    "severities": [{"name": "Minor", "description": "Noticed."}, {"name": "Major"}],
    "questions": [
        {"key": "score", "type": "slider", "label": "How good is it?", "lowest": "useless", "highest": "perfect"}
    ],
    "language_pair": "English to German",
}
PARTS: dict[str, dict[str, Any]] = {
    "base": {},
    "noguide": {},
    "noreason": {},
    "cot": {},
    "lenient": {},
    "fewshot": {"examples_from": "gold"},
    "mqm": MQM,
    "gauge": {
        "item": {"kind": "aspect", "aspects": [{"name": "Correctness", "library": "question-answering/correctness"}]},
        "categories": [{"name": "Error"}],
        "questions": [{"key": "q", "type": "likert", "label": "Correctness"}],
    },
    "verbatim": {
        "instructions_from": "people",
        "questions": [
            {"key": "a", "type": "slider", "label": "The text is fluent.", "help": "Grammar and style."},
            {"key": "b", "type": "slider", "label": "The text is true."},
        ],
    },
    "consolidate": {"consolidates": ["one", "two"], "severities": MQM["severities"]},
    "pairwise": {
        "item": {"kind": "pair"},
        "questions": [{"key": "clear", "type": "preference", "label": "Which is clearer?"}],
    },
}


def definition(preset: str, **more: Any) -> CampaignDefinition:
    return defined(**({"preset": preset, "categories": CATEGORIES, "guidelines": GUIDELINES} | PARTS[preset] | more))


def item(preset: str) -> AskedItem:
    texts = [*ITEM.texts, "Ferries leave at 06:40."] if preset == "pairwise" else ITEM.texts
    errors = [ReportedError(1, "07:40", "Wrong", "Major", "It is 07:10."), ReportedError(2, "07:40 {{", "Unclear")]
    return AskedItem(
        texts,
        SOURCE,
        aspect="correctness" if preset == "gauge" else None,
        errors=errors if preset == "consolidate" else (),
    )


def prompt(preset: str, **more: Any) -> str:
    return render_prompt(definition(preset, **more), item(preset), INPUTS).user


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_renders_exactly_its_parts(preset: str) -> None:
    rendered = render_prompt(definition(preset), item(preset), INPUTS)
    shown = f"{rendered.user}\n\n--- schema ---\n{json.dumps(rendered.schema, indent=1)}\n"
    path = SNAPSHOTS / f"{preset}.txt"
    if os.environ.get("SPANPLAT_WRITE_SNAPSHOTS"):
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_prompt_holds_the_text_as_it_is_stored(preset: str) -> None:
    assert all(text in prompt(preset) for text in item(preset).texts)


@pytest.mark.parametrize("preset", ["base", "noguide", "lenient", "fewshot", "mqm"])
def test_the_schema_puts_the_reason_before_the_passage_before_the_category(preset: str) -> None:
    schema = render_prompt(definition(preset), item(preset), INPUTS).schema
    assert schema is not None
    span = schema["properties"]["annotations"]["items"]
    names = [name for name in span["properties"] if name in ("reason", "text", "category")]
    assert names == ["reason", "text", "category"]
    assert span["required"] == list(span["properties"])
    assert span["additionalProperties"] is False


def test_presets_differ_by_what_their_names_say() -> None:
    base = prompt("base")
    assert GUIDELINES in base
    assert "leaves at **7**" in base
    assert "another one" not in base
    assert GUIDELINES not in prompt("noguide")
    assert "leaves at **7**" not in prompt("noguide")
    assert "`reason`" not in prompt("noreason")
    assert '"reason"' not in prompt("noreason")
    assert "<think>" in prompt("cot")
    assert "<think>" not in base
    assert "What is not worth a mark" in prompt("lenient")
    assert '{"annotations": []}' in prompt("lenient")
    assert "A ticket costs 2.40." in prompt("fewshot")


@pytest.mark.parametrize("preset", ["cot", "gauge", "verbatim", "pairwise", "consolidate"])
def test_where_the_reply_is_not_json_alone_no_schema_is_sent(preset: str) -> None:
    assert render_prompt(definition(preset), item(preset), INPUTS).schema is None


def test_mqm_can_have_its_steps_written_down() -> None:
    aloud = render_prompt(definition("mqm", visible_reasoning=True), item("mqm"))
    assert "between <think> and </think>" in aloud.user
    assert aloud.schema is None


def test_verbatim_shows_the_instructions_people_saw_or_less() -> None:
    assert "Read both. Then move the sliders." in prompt("verbatim")
    definitions, minimal = (prompt("verbatim", instructions=kind) for kind in ("definitions", "minimal"))
    assert "sliders" not in definitions + minimal
    assert "Grammar and style." in definitions
    assert "Grammar and style." not in minimal
    assert "The text is fluent: number" in minimal


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_end_with_two_instructions_for_models_that_reason(preset: str) -> None:
    plain = prompt(preset)
    shown = prompt(preset, final_instructions=True, reasoning={"budget": 4096})
    think, answer = shown.removeprefix(plain).strip().split("\n\n")
    assert shown.startswith(plain)
    assert think.startswith("Think before you answer, for at most about 4,096 tokens.")
    assert "nothing else" in answer
    assert answer.startswith("After </think>, give" if preset == "cot" else "Give")
    assert "tokens" not in prompt(preset, final_instructions=True).removeprefix(plain)
    without = prompt(preset, final_instructions=True, parts={"think_briefly": "", "answer_only": "Just answer."})
    assert without.removeprefix(plain) == "\n\nJust answer."


def test_a_template_of_ones_own_says_where_the_final_instructions_go() -> None:
    with pytest.raises(InvalidInput, match="has no place for them; end it with"):
        prompt("base", prompt="Mark it. {{ reply_form }}", final_instructions=True)
    shown = prompt("base", prompt='Mark it.\n\n{{ parts("answer_only") }}', final_instructions=True)
    assert shown.startswith("Mark it.\n\nGive the reply")


def test_campaigns_of_one_digest_are_told_the_same_budget_in_words() -> None:
    plain, quiet = definition("base"), definition("base", reasoning={"budget": 4096})
    told = definition("base", reasoning={"budget": 4096}, final_instructions=True)
    more = definition("base", reasoning={"budget": 8192}, final_instructions=True)
    digests = [prompt_digest(freeze_prompt(entry)) for entry in (plain, quiet, told, more)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_mqm_asks_only_for_what_the_campaign_has() -> None:
    full = prompt("mqm")
    assert "gets exactly one error, **Unintelligible**, for the whole text" in full
    assert "the category and its subcategory, and how severe it is" in full
    bare = prompt("mqm", categories=[{"name": "Wrong"}], severities=[], questions=[])
    for word in ("subcategory", "severe", "severity", "for the whole text", "quote the passage of the source"):
        assert word not in bare
    assert "Only words of the translation can be marked." in bare


@pytest.mark.parametrize("preset", PRESETS)
def test_no_prompt_has_two_blank_lines_in_a_row(preset: str) -> None:
    assert "\n\n\n" not in prompt(preset, final_instructions=True).replace(ITEM.text, "X")


def test_the_library_has_a_handful_of_qualities_for_each_kind_of_text() -> None:
    kinds = Counter(key.partition("/")[0] for key in aspect_library())
    assert set(kinds) == {
        "summarisation", "data-to-text", "dialogue", "story", "question-answering", "simplification"
    }  # fmt: skip
    assert min(kinds.values()) >= 5
    assert all(entry["steps"] and entry["lowest"] and entry["highest"] for entry in aspect_library().values())


def test_gauge_has_other_scales_and_can_leave_its_rules_out() -> None:
    numbers = prompt("gauge", gauge={"score": "integer", "severities": "words", "rules": False})
    assert "Overall score: a whole number from 1 to 5" in numbers
    assert "Neutral, Minor, Major or Critical" in numbers
    assert "## Rules" not in numbers


def test_every_quality_of_the_library_can_be_judged() -> None:
    for key in aspect_library():
        item_settings = {"kind": "aspect", "aspects": [{"name": "Any", "library": key}]}
        campaign = definition("gauge", item=item_settings)
        user = render_prompt(campaign, AskedItem(["A text."], aspect="any")).user
        assert aspect_library()[key]["description"] in user
        assert aspect_library()[key]["leave_aside"] in user


def test_an_unknown_quality_or_one_without_description_is_refused() -> None:
    for aspect, problem in (
        (
            {"name": "Any", "library": "poems/rhyme"},
            "the library has no 'poems/rhyme' .it has: summarisation/faithfulness",
        ),
        ({"name": "Any"}, "aspect 'any' has no description"),
    ):
        campaign = definition("gauge", item={"kind": "aspect", "aspects": [aspect]})
        with pytest.raises(InvalidInput, match=problem):
            render_prompt(campaign, AskedItem(["A text."], aspect="any"))


def test_parts_can_be_replaced_and_left_out() -> None:
    shown = prompt("base", parts={"task": "Mark {{ categories | length }} kinds.", "guidelines": ""})
    assert shown.startswith("Mark 2 kinds.\n\n## Categories")
    assert GUIDELINES not in shown


def test_a_template_of_ones_own_may_use_the_parts() -> None:
    shown = prompt("base", prompt='{{ parts("item", "severities") }}\nNow: {{ reply_form }}')
    assert shown.startswith("## Source")
    assert shown.endswith('</text>\nNow: {"annotations": [{"reason": "…", "text": "…", "category": "…"}]}')


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("one\n{{ txet }}", "prompt template model.prompt, line 2: 'txet' is undefined .templates see: .*text"),
        ("{% if %}", "prompt template model.prompt, line 1: Expected an expression"),
        ("{{ text.nothing }}", "has no attribute 'nothing'"),
        ('{{ parts("tsak") }}', "there is no prompt part 'tsak' .parts: answer_only, blank_example"),
        ("{{ text.__class__.__mro__ }}", "line 1: access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ categories.append(1) }}", "is not safely callable|unsafe"),
        ("{{ 1 / 0 }}", "line 1: division by zero"),
    ],
)
def test_a_wrong_template_says_where_and_what(template: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        prompt("base", prompt=template)


@pytest.mark.parametrize(
    ("preset", "change", "problem"),
    [
        ("base", {"categories": [], "questions": PARTS["verbatim"]["questions"]}, "use preset verbatim for ratings"),
        ("base", {"item": {"kind": "pair"}}, "use preset pairwise"),
        ("pairwise", {"item": {"kind": "output"}}, "compares two texts; it needs item"),
        ("gauge", {"item": {"kind": "output"}}, "judges one quality; it needs item"),
        ("verbatim", {"questions": []}, "rates by criteria; it needs questions"),
        ("base", {"parts": {"tsak": ""}}, "there is no prompt part 'tsak'"),
    ],
)
def test_a_campaign_that_its_preset_cannot_ask_about_is_refused(
    preset: str, change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidInput, match=problem):
        prompt(preset, **change)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_frozen_prompt_is_the_same_prompt_with_its_text_in_the_definition(preset: str) -> None:
    campaign = definition(preset)
    frozen = freeze_prompt(campaign)
    assert frozen.model is not None
    assert frozen.model.prompt
    assert {name: part_source(name) for name in frozen.model.parts} == frozen.model.parts
    one, other = (render_prompt(entry, item(preset), INPUTS) for entry in (campaign, frozen))
    assert one == other
    assert one.sha256 == other.sha256
    assert freeze_prompt(frozen) == frozen
    assert CampaignDefinition.model_validate(frozen.model_dump(mode="json")) == frozen


def test_every_part_that_ships_is_used_by_a_preset() -> None:
    used = set[str]()
    for preset in PRESETS:
        frozen = freeze_prompt(definition(preset))
        used |= set(frozen.model.parts if frozen.model else ())
    assert set(part_names()) == used
