"""The language of a page: the best of those there are translations for; strings in the code are English."""

from flask import request

from spanplat import paths

SOURCE_LANGUAGE = "en"


def available() -> list[str]:
    """Return the languages of the interface."""
    return [
        SOURCE_LANGUAGE,
        *sorted(path.parent.parent.name for path in paths.TRANSLATIONS.glob("*/LC_MESSAGES/messages.mo")),
    ]


def choose() -> str:
    """Choose the language of this request by what the browser prefers."""
    return request.accept_languages.best_match(available()) or SOURCE_LANGUAGE
