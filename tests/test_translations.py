"""All sentences for annotators are translated to all languages of the interface and compiled."""

import io
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from spanplat import paths
from spanplat.web import locale
from tests.conftest import ROOT

LANGUAGES = ("ar", "cs", "de", "es")
KEYWORDS = {**DEFAULT_KEYWORDS, "user_message": None}
PLACE = re.compile(r"%\(\w+\)s|\{\w+\}")


@pytest.fixture(scope="module")
def wanted() -> dict[str, tuple[str, ...]]:
    """What the code says to annotators: each sentence, with its plural where it has one."""
    with (paths.TRANSLATIONS / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    found = extract_from_dir(ROOT, methods, options, KEYWORDS, directory_filter=lambda path: ".venv" not in path)
    messages = [message if isinstance(message, tuple) else (message,) for _, _, message, _, _ in found]
    return {message[0]: tuple(message) for message in messages}


def test_whatever_the_code_says_in_words_to_be_translated_is_collected(wanted: dict[str, tuple[str, ...]]) -> None:
    everywhere = extract_from_dir(ROOT / "spanplat", [("**.py", "python")], keywords={"user_message": None})
    assert {message for _, _, message, _, _ in everywhere} - set(wanted) == set(), "add the file to babel.cfg"


def catalog(language: str) -> Catalog:
    with (paths.TRANSLATIONS / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language)


def said(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def test_the_interface_speaks_all_its_languages() -> None:
    assert locale.available() == ("en", *LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_an_annotator_may_read_is_translated(language: str, wanted: dict[str, tuple[str, ...]]) -> None:
    assert len(wanted) > 150
    known = catalog(language)
    untranslated = [
        sentence
        for sentence in wanted
        if (message := known.get(sentence)) is None or message.fuzzy or not all(text.strip() for text in said(message))
    ]
    assert untranslated == [], "run `make messages`, and translate what is empty or fuzzy in the catalog"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_keeps_the_places_that_are_filled_in(language: str, wanted: dict[str, tuple[str, ...]]) -> None:
    known = catalog(language)
    for sentence in wanted:
        forms = said(known[sentence])
        for text in forms:
            places = set(PLACE.findall(text))
            # "One more try" needs no number.
            assert places == set(PLACE.findall(sentence)) or (len(forms) > 1 and not places), (sentence, text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_plural_form_of_the_language_is_there(language: str, wanted: dict[str, tuple[str, ...]]) -> None:
    known = catalog(language)
    forms = {sentence: len(said(known[sentence])) for sentence, *plural in wanted.values() if plural}
    assert forms
    assert set(forms.values()) == {known.num_plurals}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalog_holds_nothing_that_is_said_no_more(language: str, wanted: dict[str, tuple[str, ...]]) -> None:
    sentences = {message.id if isinstance(message.id, str) else message.id[0] for message in catalog(language)} - {""}
    assert sentences - set(wanted) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_used_is_compiled_from_what_is_translated(language: str) -> None:
    compiled = io.BytesIO()
    write_mo(compiled, catalog(language))
    stored: Path = paths.TRANSLATIONS / language / "LC_MESSAGES" / "messages.mo"
    assert stored.read_bytes() == compiled.getvalue(), "run `make messages`"
