"""Language of a page. Strings in the code are English.

Annotators' pages are translated and use the language of their campaign. Researchers' pages are English.
"""

from contextlib import AbstractContextManager
from functools import cache

from flask import request
from flask_babel import force_locale, gettext

from spanplat import paths
from spanplat.errors import UserMessage

SOURCE_LANGUAGE = "en"


@cache
def available() -> tuple[str, ...]:
    """Return the languages of the interface."""
    found = paths.TRANSLATIONS.glob("*/LC_MESSAGES/messages.mo")
    return (SOURCE_LANGUAGE, *sorted(path.parent.parent.name for path in found))


def choose() -> str:
    """Return the available language that the browser prefers."""
    return request.accept_languages.best_match(available()) or SOURCE_LANGUAGE


def of_request() -> str:
    """Return the language of a request before its campaign is known."""
    return choose() if request.blueprint == "annotator" else SOURCE_LANGUAGE


def speaking(language: str) -> AbstractContextManager[None]:
    """Use a language within a ``with`` block. It is a language tag of HTML: ``pt-BR``."""
    # Babel writes pt_BR where HTML writes pt-BR.
    spoken: AbstractContextManager[None] = force_locale(language.replace("-", "_"))
    return spoken


def translate(message: UserMessage) -> str:
    """Translate a message of a service into the language of the page."""
    return str(gettext(message.template, **message.values))


def sentence(message: UserMessage) -> str:
    """Translate a message and write it as a full sentence, with a capital letter and a full stop."""
    said = translate(message)
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith(('.', '!', '?')) else '.'}"
