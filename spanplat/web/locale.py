"""The language of a page: the best of those there are translations for; strings in the code are English.

Annotators' pages are translated, each speaks the language of its campaign. Researchers' pages are English.
"""

from contextlib import AbstractContextManager
from functools import cache

from flask import request
from flask_babel import force_locale, gettext

from spanplat import paths
from spanplat.errors import Saying

SOURCE_LANGUAGE = "en"


@cache
def available() -> tuple[str, ...]:
    """Return the languages of the interface."""
    found = paths.TRANSLATIONS.glob("*/LC_MESSAGES/messages.mo")
    return (SOURCE_LANGUAGE, *sorted(path.parent.parent.name for path in found))


def choose() -> str:
    """Choose the language of this request by what the browser prefers."""
    return request.accept_languages.best_match(available()) or SOURCE_LANGUAGE


def of_request() -> str:
    """Return the language of a page for which no campaign decides."""
    return choose() if request.blueprint == "annotator" else SOURCE_LANGUAGE


def speaking(language: str) -> AbstractContextManager[None]:
    """Say everything in the block in a language, given as pages name it: ``pt-BR``."""
    spoken: AbstractContextManager[None] = force_locale(language.replace("-", "_"))
    return spoken


def translate(saying: Saying) -> str:
    """Say a sentence of a service in the language of the page."""
    return str(gettext(saying.template, **saying.values))


def sentence(saying: Saying) -> str:
    """Say a sentence of a service as one that stands by itself."""
    said = translate(saying)
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?')) else '.'}"
