"""Wrong input in the campaign wizard: an accessible message at its field, and no typed value is lost."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest

from spanplat.formats.yaml_editing import YamlText
from spanplat.services.campaigns.draft_forms import fill_in
from tests.web.campaigns.test_drafts import hidden, sent


def fill(
    researcher: Any, address: str, named: Mapping[str, str] | None = None, *, htmx: bool = False, **changes: str
) -> Any:
    """Send a step as it stands but for some controls, whose dots are written as two underscores."""
    page = researcher.get(address).text
    typed = {name.replace("__", "."): value for name, value in changes.items()}
    return researcher.post(address, htmx=htmx, **hidden(page) | sent(page) | typed | dict(named or {}))


def field(page: str, name: str) -> str:
    """Return the tag of a control."""
    found = re.search(rf'<(?:input|textarea|select)[^>]* id="f-{re.escape(name)}"[^>]*>', page)
    assert found is not None, name
    return found[0]


def said_at(page: str, name: str) -> str:
    """Return what stands under a field, which its control has to name as its description."""
    found = re.search(rf'<span class="small problem" id="b-{re.escape(name)}">(.*?)</span>', page)
    assert found is not None, f"nothing is said at {name}"
    return unescape(found[1])


WRONG = (
    ("start", "slug", "My hotels", "lower-case letters, digits and single hyphens, such as 'my-hotels'"),
    ("start", "title", "", "is missing"),
    ("start", "title", "x" * 500, "at most 200 characters"),
    ("data", "data.dataset", "hotel", "there is no dataset 'hotel'"),
    ("categories", "categories.1.color", "red", "'red'"),
    ("questions", "questions.0.label", "", "is missing"),
    ("assignment", "batches.regular", "-1", "greater than or equal to 0"),
    ("platform", "platform.minutes", "-5.5", "greater than 0"),
)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_is_said_at_its_field_and_saving_leads_there(
    researcher: Any, copy: str, wrong: tuple[str, ...]
) -> None:
    step, name, typed, message = wrong
    saved = fill(researcher, f"{copy}/{step}", {name: typed, "go": step})
    assert saved.headers["Location"] == f"{copy}/{step}#f-{name}"
    page = researcher.get(f"{copy}/{step}").text
    assert message in said_at(page, name)
    assert 'aria-invalid="true"' in field(page, name)
    assert f"b-{name}" in field(page, name)
    assert sent(page)[name] == typed, "what was typed stays"
    panel = researcher.post(f"{copy}/{step}", htmx=True, **hidden(page) | sent(page)).text
    assert f'data-at="f-{name}"' in panel
    assert message in unescape(panel)


NO_VALUES = (
    ("assignment", "batches.regular", "many", "'many' is not a whole number"),
    ("assignment", "batches.regular", "1.5", "'1.5' is not a whole number"),
    ("assignment", "batches.regular", "1_000", "'1_000' is not a whole number"),
    ("assignment", "batches.regular", "9" * 5000, "is too large"),
    ("assignment", "annotators.per_output", "1e999", "'1e999' is too large"),
    ("assignment", "annotators.per_output", "nan", "'nan' is not a number"),
    ("assignment", "annotators.per_output", "1,5", "write it with a point"),
    ("start", "title", "A\x00B", "holds a character that cannot be seen (U+0000)"),
)


@pytest.mark.parametrize("wrong", NO_VALUES)
def test_what_cannot_be_a_value_keeps_what_was_typed_and_what_was_stored(
    researcher: Any, copy: str, wrong: tuple[str, ...]
) -> None:
    step, name, typed, message = wrong
    before = sent(researcher.get(f"{copy}/text").text)["text"]
    refused = fill(researcher, f"{copy}/{step}", {name: typed, "go": "review"})
    assert refused.status_code == 422
    assert message in said_at(refused.text, name)
    assert 'aria-invalid="true"' in field(refused.text, name)
    assert sent(refused.text)[name] == typed
    assert len(said_at(refused.text, name)) < 200, "a message does not repeat all of it"
    after = sent(researcher.get(f"{copy}/text").text)["text"]
    assert YamlText(after).content == YamlText(before).content
    panel = fill(researcher, f"{copy}/{step}", {name: typed}, htmx=True).text
    assert "data-not-taken" in panel
    assert f'data-at="f-{name}"' in panel


@pytest.mark.parametrize(
    "words", ["<b onclick=alert(1)>hotels</b>", "🦊👩‍👩‍👧 hotels", "\u202eفنادق", "a: b # c", "- x", "{a}"]
)
def test_any_words_are_kept_as_they_were_typed(researcher: Any, copy: str, words: str) -> None:
    assert fill(researcher, f"{copy}/start", title=words).status_code == 303
    page = researcher.get(f"{copy}/start").text
    assert sent(page)["title"] == words
    assert "<b onclick" not in page
    assert YamlText(sent(researcher.get(f"{copy}/text").text)["text"]).content["title"] == words


@pytest.mark.parametrize(("typed", "message"), [("a", "has no colon"), ("a: x\na: y", "'a' stands there twice")])
def test_pairs_are_whole_and_each_stands_once(typed: str, message: str) -> None:
    text = "slug: a\nquestions:\n  - {type: no_errors, label: None}\n"
    changed, form = fill_in(text, "questions", {"questions.0.wording": typed})
    assert message in form.bad["questions.0.wording"]
    assert (form.typed["questions.0.wording"], "wording" in changed) == (typed, False)


def test_two_categories_cannot_share_a_key_of_the_keyboard(researcher: Any, copy: str) -> None:
    fill(researcher, f"{copy}/categories", categories__0__hotkey="x", categories__1__hotkey="x")
    page = researcher.get(f"{copy}/categories").text
    assert "hotkey" in unescape(" ".join(re.findall(r'class="small problem"[^>]*>(.*?)<', page)))


def panel_of(page: str) -> str:
    """Return what stands beside a step."""
    return unescape(page.partition('<div id="state"')[2])


def steps_of(page: str) -> dict[str, int]:
    """Return how many mistakes the list of steps shows at each other step."""
    steps = page.partition('class="tabs steps"')[2].partition("</nav>")[0]
    return {
        step: int(number)
        for step, number in re.findall(r'/([a-z]+)"[^>]*>[^<]*<span class="badge">(\d+)</span>', steps)
    }


def test_a_category_that_goes_is_told_at_the_check_that_expects_it(researcher: Any, copy: str) -> None:
    fill(researcher, f"{copy}/categories", act="remove:categories.1")
    for step in ("start", "categories"):
        page = researcher.get(f"{copy}/{step}").text
        assert steps_of(page) == {"checks": 1, "guidelines": 1}
        assert "Nothing to mend here." in panel_of(page)
    name = "checks.0.expected.category"
    page = researcher.get(f"{copy}/checks").text
    assert "check 'flying-ferry' expects category 'unsupported', which is not defined" in said_at(page, name)
    assert 'aria-invalid="true"' in field(page, name)
    assert f'href="#f-{name}"' in panel_of(page)
    example = "worked_examples.0.spans.1.category"
    assert "worked example 1 expects category 'unsupported'" in said_at(
        researcher.get(f"{copy}/guidelines").text, example
    )
    assert f'href="{copy}/checks#f-{name}"' in researcher.get(f"{copy}/review").text
    text = sent(researcher.get(f"{copy}/text").text)["text"]
    line = 1 + text.splitlines().index(next(entry for entry in text.splitlines() if "category: unsupported" in entry))
    assert f'data-line="{line}"' in researcher.get(f"{copy}/text").text
    fill(researcher, f"{copy}/checks", {name: "contradicts"})
    assert steps_of(researcher.get(f"{copy}/start").text) == {"guidelines": 1}


def test_what_one_step_asks_of_another_is_told_where_it_is_mended(researcher: Any, copy: str) -> None:
    fill(researcher, f"{copy}/checks", act="remove:checks.0")
    assert "each batch needs 2 attention checks, but 1" in said_at(
        researcher.get(f"{copy}/assignment").text, "batches.attention"
    )
    fill(researcher, f"{copy}/start", kind="llm")
    page = researcher.get(f"{copy}/start").text
    assert steps_of(page) == {"assignment": 1, "model": 1}
    assert "needs model settings" in said_at(researcher.get(f"{copy}/model").text, "model")


def test_a_row_is_not_removed_while_something_typed_cannot_be_taken_over(researcher: Any, copy: str) -> None:
    refused = fill(researcher, f"{copy}/checks", checks__0__expected__start="first", act="remove:checks.0")
    assert refused.status_code == 422
    assert sent(refused.text)["checks.0.expected.start"] == "first"


@pytest.mark.parametrize(
    ("act", "place"),
    [
        ("add:categories", "f-categories.{last}.name"),
        ("down:categories.0", "a-down:categories.1"),
        ("up:categories.1", "a-down:categories.0"),
        ("remove:categories.0", "a-remove:categories.0"),
    ],
)
def test_who_changes_rows_comes_back_at_the_row(researcher: Any, copy: str, act: str, place: str) -> None:
    page = researcher.get(f"{copy}/categories").text
    rows = len(re.findall(r'name="categories\.\d+\.name"', page))
    location = fill(researcher, f"{copy}/categories", act=act).headers["Location"]
    anchor = location.partition("#")[2]
    assert anchor == place.format(last=rows)
    assert f'id="{anchor}"' in researcher.get(location).text


def test_yaml_that_is_broken_or_has_unknown_keys_is_kept_and_its_line_is_named(researcher: Any, copy: str) -> None:
    for text, message, line in (
        ("slug: a\ntitle: [1\n", "not valid YAML", 3),
        ("slug: a\ntitle: b\nkind: human\nannotator:\n  n: 1\n", "unknown key 'annotator'", 4),
        ("slug: a\nslug: b\n", "'slug' stands here a second time", 2),
    ):
        panel = fill(researcher, f"{copy}/text", htmx=True, text=text)
        assert panel.status_code == 200
        assert message in unescape(panel.text)
        page = researcher.get(f"{copy}/text").text
        assert sent(page)["text"].strip() == text.strip()
        assert 'aria-invalid="true"' in page
        assert message in unescape(re.search(r'id="b-yaml"[^>]*>(.*?)<', page)[1])  # type: ignore[index]
        assert f"line {line}" in panel.text or f":{line}:" in panel.text


def test_a_definition_of_a_megabyte_is_taken_and_a_larger_one_is_refused_by_its_size(
    researcher: Any, copy: str
) -> None:
    text = "slug: a\ntitle: b\n# " + "x" * 1_000_000
    assert fill(researcher, f"{copy}/text", htmx=True, text=text).status_code == 200
    assert len(sent(researcher.get(f"{copy}/text").text)["text"]) >= 1_000_000
    refused = fill(researcher, f"{copy}/text", htmx=True, text=text + "x" * 1_500_000)
    assert (refused.status_code, "at most 2,000,000 are accepted" in refused.text) == (422, True)


def test_two_tabs_keep_what_each_typed_and_the_second_may_put_its_step_over_the_first(
    researcher: Any, copy: str
) -> None:
    page = researcher.get(f"{copy}/start").text
    fill(researcher, f"{copy}/start", title="Theirs")
    mine = hidden(page) | sent(page) | {"title": "Mine"}
    refused = researcher.post(f"{copy}/start", htmx=True, **mine)
    assert refused.status_code == 409
    assert 'role="alert"' in refused.text
    assert "Your" not in sent(researcher.get(f"{copy}/start").text)["title"]
    whole = researcher.post(f"{copy}/start", **mine)
    assert (whole.status_code, sent(whole.text)["title"]) == (409, "Mine"), "without scripts the page keeps it too"
    over = re.search(r'name="over" value="(\d+)"', refused.text)
    assert over is not None
    assert researcher.post(f"{copy}/start", htmx=True, **mine | {"over": over[1]}).status_code == 200
    assert sent(researcher.get(f"{copy}/start").text)["title"] == "Mine"


def test_a_step_whose_rows_changed_in_another_tab_is_not_put_over_them(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/categories").text
    fill(researcher, f"{copy}/categories", act="remove:categories.0")
    refused = researcher.post(
        f"{copy}/categories", htmx=True, **hidden(page) | sent(page) | {"categories.0.name": "Other"}
    )
    assert (refused.status_code, 'name="over"' in refused.text) == (409, False)
    assert "Rows were added or removed" in refused.text


def test_a_campaign_made_in_another_tab_is_told_and_making_it_again_makes_nothing(researcher: Any, copy: str) -> None:
    fill(researcher, f"{copy}/start", slug="made-once")
    assert researcher.post(f"{copy}/make").status_code == 303
    again = researcher.post(f"{copy}/make")
    assert again.headers["Location"] == f"{copy}/review#review"
    assert "A campaign was made of this draft" in researcher.get(f"{copy}/review").text
    panel = fill(researcher, f"{copy}/start", htmx=True, title="Too late").text
    assert "A campaign was made of this draft" in panel
    assert "already" not in panel, "its own name is no mistake"


def test_a_name_taken_meanwhile_is_said_at_the_name_when_the_campaign_is_made(researcher: Any, copy: str) -> None:
    fill(researcher, f"{copy}/start", slug="demo-people")
    refused = researcher.post(f"{copy}/make")
    assert refused.status_code == 422
    assert f'href="{copy}/start#f-slug"' in refused.text
    assert "there is a campaign 'demo-people' already" in unescape(refused.text)


def test_whoever_is_signed_out_keeps_the_page(researcher: Any, copy: str) -> None:
    page = researcher.get(f"{copy}/start").text
    researcher.client.delete_cookie("spanplat")
    refused = researcher.post(f"{copy}/start", htmx=True, **hidden(page) | sent(page))
    assert refused.status_code in (400, 401)
    assert "You are signed out" in page.partition('<template id="signed-out">')[2].partition("</template>")[0]


def test_a_protocol_shows_its_values_in_the_fields_that_it_fills(researcher: Any) -> None:
    researcher.get("/admin/drafts")
    start = researcher.post("/admin/drafts", start="starter:data-to-text-llm").headers["Location"]
    step = start.rpartition("/")[0] + "/model"
    assert sent(researcher.get(step).text)["model.repeats"] == "1"
    panel = fill(researcher, step, {"model.protocol": "three-seeds"}, htmx=True).text
    assert '<p data-fills="model.repeats">3</p>' in panel
    page = researcher.get(step).text
    assert sent(page)["model.repeats"] == ""
    assert 'placeholder="3"' in field(page, "model.repeats")
    assert 'placeholder="1024"' in field(page, "model.max_tokens")
    assert "42, 1738, 1234" in unescape(field(page, "model.parameters"))
    before = sent(researcher.get(start.rpartition("/")[0] + "/text").text)["text"]
    fill(researcher, step)
    assert sent(researcher.get(start.rpartition("/")[0] + "/text").text)["text"] == before, (
        "what is shown is not stated"
    )
    fill(researcher, step, {"model.protocol": "reasoning"})
    page = researcher.get(step).text
    assert "checked disabled" in field(page, "model.final_instructions")
    assert 'placeholder="1800"' in field(page, "model.timeout")
    assert re.search(r'data-filled-at="model.reasoning">By the protocol: <span>effort medium, budget 4096', page)
    fill(researcher, step, {"model.protocol": ""})
    page = researcher.get(step).text
    assert sent(page)["model.repeats"] == "1"
    assert "disabled" not in field(page, "model.final_instructions")
