"""Renderer of parallel text for translation: source sentences with language and direction, and their translations."""

from collections.abc import Sequence
from typing import Any

from babel import Locale, UnknownLocaleError
from markupsafe import Markup

from spanplat.rendering.context import Record, RenderingContext, direction_of, is_record
from spanplat.rendering.markup import element, join
from spanplat.rendering.tree import render_tree

_SOURCES = ("source", "src", "source_text", "source_sentence", "source_segment")
_TARGETS = ("target", "tgt", "translation", "reference", "ref", "target_text", "reference_translation")
_LANGUAGES = ("source_language", "source_lang", "src_lang", "lang", "language")
_TARGET_LANGUAGES = ("target_language", "target_lang", "tgt_lang")


def render_translation(value: Any, context: RenderingContext, *, asked: bool) -> Markup | None:
    """Render source sentences; return None if the value holds no parallel text.

    A text or a list of texts counts as sentences only if the settings say so. Records of texts by language (``{"de": …, "en": …}``),
    and records with a source and its language or a translation, are recognised by their names.
    """
    if isinstance(value, (str, list)) and asked:
        return _sentences_or_pairs(value, context)
    if not is_record(value):
        return None
    if texts := _texts_by_language(value):
        return join(_language_block(language, text, context) for language, text in texts)
    return _source_and_language(value, context, asked=asked)


def _sentences_or_pairs(value: str | list[Any], context: RenderingContext) -> Markup | None:
    language = context.settings.language
    if isinstance(value, str):
        return _passage(value, language)
    if all(isinstance(sentence, str) for sentence in value) and value:
        return _passage(value, language)
    return None


def _source_and_language(record: Record, context: RenderingContext, *, asked: bool) -> Markup | None:
    names = {name.casefold(): name for name in record}
    source = next((names[name] for name in _SOURCES if name in names), None)
    if source is None or not _is_passage(record[source]):
        return None
    told = next((names[name] for name in _LANGUAGES if name in names), None)
    towards = next((names[name] for name in _TARGET_LANGUAGES if name in names), None)
    targets = [names[name] for name in _TARGETS if name in names and _is_passage(record[names[name]])]
    known = isinstance(record.get(told or ""), str) or isinstance(record.get(towards or ""), str) or bool(targets)
    if not (asked or known):
        return None
    language = _text_of(record, told) or context.settings.language
    target_language = _text_of(record, towards)
    parts = [_passage(record[source], language)]
    parts += [_labelled(name, _passage(record[name], target_language), context) for name in targets]
    shown = {source, *targets, *(name for name in (told, towards) if name and isinstance(record[name], str))}
    if direction := " → ".join(filter(None, (_text_of(record, told), _text_of(record, towards)))):
        parts.insert(0, element("p", direction, class_="languages"))
    if rest := {name: value for name, value in record.items() if name not in shown}:
        parts.append(render_tree(rest, context))
    return join(parts)


def _texts_by_language(record: Record) -> list[tuple[str, str | list[str]]]:
    if not record or not all(_is_language(name) and _is_passage(text) for name, text in record.items()):
        return []
    return list(record.items())


def _language_block(language: str, passage: str | Sequence[str], context: RenderingContext) -> Markup:
    return _labelled(language, _passage(passage, language), context)


def _labelled(name: str, passage: Markup, context: RenderingContext) -> Markup:
    return element("section", element("p", context.label(name), class_="languages"), passage)


def _passage(passage: str | Sequence[str], language: str) -> Markup:
    """Render a text as one block, or several sentences as a numbered list."""
    about = {"lang": language or None, "dir": direction_of(language) if language else "auto"}
    if isinstance(passage, str):
        return element("div", passage.replace("\r\n", "\n"), class_="plain-source", **about)
    return element("ol", *(element("li", sentence) for sentence in passage), class_="sentences", **about)


def _is_passage(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(sentence, str) for sentence in value)
    )


def _is_language(name: str) -> bool:
    """Tell whether a field's name is a language tag with a lower-case language, such as ``de`` or ``pt-BR``."""
    head = name.replace("_", "-").split("-")[0]
    if not (2 <= len(head) <= 3 and head.isascii() and head.islower()) or len(name) > 7:
        return False
    try:
        Locale.parse(name.replace("_", "-"), sep="-")
    except (UnknownLocaleError, ValueError):
        return False
    return True


def _text_of(record: Record, name: str | None) -> str:
    found = record.get(name) if name else None
    return found if isinstance(found, str) else ""
