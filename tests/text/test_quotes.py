"""Where a quote is found, under which rule, and when it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanplat.text import NotLocated, QuoteLocation, locate_quote, match_at, same_ignoring

letters = st.sampled_from("abAB ßİıſΣςσﬁ\u0307\u0301\n\t\u00a0é漢م😀\u200dक\u094dไ")
texts = st.text(letters, min_size=1, max_size=40)


def test_an_exact_quote_is_found() -> None:
    assert locate_quote("one two three", "two") == QuoteLocation(4, 7, "exact")


@pytest.mark.parametrize(
    ("text", "quote", "start", "end", "rule"),
    [
        ("The Cat sat", "the cat", 0, 7, "ignoring-case"),
        ("Die Straße hier", "STRASSE", 4, 10, "ignoring-case"),
        ("in İstanbul now", "i\u0307stanbul", 3, 11, "ignoring-case"),
        ("İİ then quote", "QUOTE", 8, 13, "ignoring-case"),
        ("one  two\nthree", "one two three", 0, 14, "ignoring-space"),
        ("at 15°C today", "15 °C", 3, 7, "ignoring-space"),
        ("at 15 °C today", "15°C", 3, 8, "ignoring-space"),
        ("One\u00a0Two", "one two", 0, 7, "ignoring-case-and-space"),
        ("我用 GPT 模型", "我用GPT模型", 0, 9, "ignoring-space"),
        ("say it", " it ", 4, 6, "ignoring-space"),
        ("مرحبا بالعالم", "بالعالم", 6, 13, "exact"),
        ("שָׁלוֹם", "שָׁ", 0, 3, "exact"),
        ("नमस्ते", "स्ते", 2, 6, "exact"),
        ("สวัสดีชาวโลก", "ชาวโลก", 6, 12, "exact"),
        ("x👩\u200d👧y", "👩\u200d👧", 1, 4, "exact"),
    ],
)  # fmt: skip
def test_rules_from_strict_to_lenient(text: str, quote: str, start: int, end: int, rule: str) -> None:
    found = locate_quote(text, quote)
    assert isinstance(found, QuoteLocation)
    assert (found.start, found.end, found.rule) == (start, end, rule)


def test_a_strict_match_goes_before_an_earlier_lenient_one() -> None:
    assert locate_quote("CAT cat", "cat") == QuoteLocation(4, 7, "exact")


def test_a_folded_match_never_cuts_a_character() -> None:
    assert locate_quote("groß", "GROS") == NotLocated("does not occur in the text")


def test_dropping_spaces_never_cuts_a_word() -> None:
    assert locate_quote("his visa there", "s a") == NotLocated("does not occur in the text")


@pytest.mark.parametrize("quote", ["", " ", "\n\t"])
def test_an_empty_quote_has_no_place(quote: str) -> None:
    assert locate_quote("some text", quote) == NotLocated("is empty")


def test_several_places_without_a_hint_are_ambiguous() -> None:
    found = locate_quote("a cat and a cat", "cat")
    assert isinstance(found, NotLocated)
    assert found.ambiguous


@pytest.mark.parametrize(("near", "start"), [(-5, 2), (0, 2), (6, 2), (7, 2), (8, 12), (12, 12), (99, 12)])
def test_the_place_nearest_to_the_hint_wins(near: int, start: int) -> None:
    assert locate_quote("a cat and a cat", "cat", near=near) == QuoteLocation(start, start + 3, "exact", "nearest")


def test_the_occurrence_goes_before_the_hint() -> None:
    assert locate_quote("a cat and a cat", "cat", near=0, occurrence=1) == QuoteLocation(12, 15, "exact", "occurrence")


def test_an_occurrence_that_does_not_exist_decides_nothing() -> None:
    assert locate_quote("a cat and a cat", "cat", near=0, occurrence=7) == QuoteLocation(2, 5, "exact", "nearest")
    assert isinstance(locate_quote("a cat and a cat", "cat", occurrence=-1), NotLocated)


def test_a_hint_counts_original_code_points_under_lenient_rules() -> None:
    text = "İß cat.  Cat. ßß cat"
    assert locate_quote(text, "CAT", near=9) == QuoteLocation(9, 12, "ignoring-case", "nearest")


def test_occurrences_are_counted_without_overlap() -> None:
    assert locate_quote("aaaa", "aa", occurrence=1) == QuoteLocation(2, 4, "exact", "occurrence")


def test_approximate_search_is_off_unless_asked_for() -> None:
    assert locate_quote("the quick brown fox", "quikc brown") == NotLocated("does not occur in the text")
    found = locate_quote("the quick brown fox", "quikc brown", most_edits=0.2)
    assert found == QuoteLocation(4, 15, "approximate", distance=2)


def test_approximate_search_stays_within_its_budget() -> None:
    assert isinstance(locate_quote("the quick brown fox", "slow green fox", most_edits=0.2), NotLocated)


def levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        previous, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (a != b)))
    return row[-1]


@given(st.text("abc", min_size=1, max_size=12), st.text("abc", min_size=1, max_size=6))
def test_approximate_search_finds_the_smallest_distance(text: str, quote: str) -> None:
    smallest = min(levenshtein(quote, text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1))
    found = locate_quote(text, quote, near=0, most_edits=1.0)
    assert isinstance(found, QuoteLocation)
    if found.rule == "approximate":
        assert found.distance == smallest == levenshtein(quote, text[found.start : found.end])


@given(texts, st.data())
def test_a_passage_of_the_text_is_always_found_at_its_offset(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    quote = text[start:end]
    found = locate_quote(text, quote, near=start)
    if not quote.strip():
        assert found == NotLocated("is empty")
    else:
        assert isinstance(found, QuoteLocation)
        assert (found.start, found.end, found.rule) == (start, end, "exact")


@given(texts, texts, st.integers(-2, 45))
def test_what_is_found_equals_the_quote_under_the_rule_it_names(text: str, quote: str, near: int) -> None:
    found = locate_quote(text, quote, near=near)
    if isinstance(found, QuoteLocation):
        assert 0 <= found.start < found.end <= len(text)
        passage = text[found.start : found.end]
        assert same_ignoring(passage, quote) is not None
        if found.rule == "exact":
            assert passage == quote
        elif found.rule == "ignoring-case":
            assert passage.casefold() == quote.casefold()


@given(texts, st.data())
def test_changing_case_and_space_of_a_whole_text_still_finds_it(text: str, data: st.DataObject) -> None:
    changed = data.draw(st.sampled_from([text.upper, text.lower, text.casefold, text.swapcase]))()
    found = locate_quote(text, changed.casefold())
    if text.strip() and changed.casefold() == text.casefold():
        assert isinstance(found, QuoteLocation)
        assert (found.start, found.end) in {(0, len(text)), (text.index(text.strip()), len(text.rstrip()))}


LONG = "Lorem ipsum dolor ß sit amet  " * 35_000


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("nowhere to be found", None),
        ("SIT AMET lorem", (500_000, 500_015)),
        ("dolor ẞ", (499_992, 499_999)),
        ("x" * 50_000, None),
        (LONG[:30_000], (500_010, 530_010)),
    ],
)
def test_a_text_of_a_megabyte_is_searched_to_its_end(quote: str, found: tuple[int, int] | None) -> None:
    place = locate_quote(LONG, quote, near=500_000)
    assert ((place.start, place.end) if isinstance(place, QuoteLocation) else None) == found


@pytest.mark.slow
@pytest.mark.parametrize(("text", "quote"), [("ß" * 10**6, "s" * 500_001), ("a" * 10**6, "a " * 500_000)])
def test_a_text_made_to_defeat_the_search_ends_it(text: str, quote: str) -> None:
    assert isinstance(locate_quote(text, quote), NotLocated)


def test_approximate_places_are_told_apart_by_the_hint_only() -> None:
    text = "a quick fox, a quick fax, then a quick fux"
    assert isinstance(locate_quote(text, "quick fix", most_edits=0.2), NotLocated)
    assert locate_quote(text, "quick fix", near=14, most_edits=0.2) == QuoteLocation(
        15, 24, "approximate", "nearest", 1
    )


@pytest.mark.parametrize(
    ("quote", "start", "expected"),
    [
        ("Cat", 4, QuoteLocation(4, 7, "exact")),
        ("CAT  SAT", 4, QuoteLocation(4, 11, "ignoring-case-and-space")),
        ("Cat", 3, None),
        ("sat down", 8, None),
        ("", 4, None),
        ("Cat", 99, None),
        ("Cat", -1, None),
    ],
)
def test_a_quote_is_compared_with_the_passage_at_an_offset(
    quote: str, start: int, expected: QuoteLocation | None
) -> None:
    assert match_at("The Cat sat", start, quote) == expected
