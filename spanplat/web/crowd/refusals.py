"""Error pages for annotators, in the language of their campaign."""

import contextlib
from collections.abc import Iterator

from flask import Response, jsonify, make_response, render_template, request
from flask_babel import gettext as _

from spanplat.errors import Conflict, NotAllowed, NotFound, SpanplatError, TooMany
from spanplat.schemas.definition import CampaignDefinition
from spanplat.services.campaigns.definitions import definition_of
from spanplat.services.campaigns.lifecycle import find_campaign
from spanplat.services.crowd.claims import NothingLeft
from spanplat.services.crowd.participation import find_visit
from spanplat.web import locale
from spanplat.web.crowd.annotator_page import direction_of, page_language
from spanplat.web.errors import status_of
from spanplat.web.headers import allow_frames
from spanplat.web.representation import wants_json
from spanplat.web.session import reading


def turned_away(error: SpanplatError) -> Response:
    """Answer an error with a page or JSON in the language of the campaign."""
    definition = _definition_of(**(request.view_args or {}))
    if definition is not None:
        allow_platform_frames(definition)
    with _speaking_of(definition) as language:
        if wants_json():
            return _answer(error, jsonify(error=locale.translate(error.user_message)))
        page = render_template(
            "annotator/turned_away.html",
            title=_title_of(error),
            message=error.user_message,
            is_study=not isinstance(error, NotFound | TooMany),
            language=language,
            direction=direction_of(language),
        )
        return _answer(error, page)


def allow_platform_frames(definition: CampaignDefinition) -> None:
    """Allow only the campaign's platform to show its pages in a frame and to receive the form that reports the work."""
    hosts = definition.platform.profile.frame_hosts
    if hosts:
        allow_frames([f"https://{host}" for host in hosts])


@contextlib.contextmanager
def spoken_to(token: str) -> Iterator[str]:
    """Use the language of the token's campaign within a ``with`` block; the browser's if there is no such campaign."""
    with _speaking_of(_definition_of(token=token)) as language:
        yield language


@contextlib.contextmanager
def _speaking_of(definition: CampaignDefinition | None) -> Iterator[str]:
    language = locale.choose() if definition is None else page_language(definition)
    with locale.speaking(language):
        yield language


def _definition_of(slug: str | None = None, token: str | None = None, **_others: object) -> CampaignDefinition | None:
    """Return the definition of the campaign of an address; None if there is none."""
    # This runs while an error is answered: a second error here must not hide the first.
    with contextlib.suppress(SpanplatError):
        if token is not None:
            return find_visit(reading(), token).definition
        if slug is not None:
            return definition_of(find_campaign(reading(), slug))
    return None


def _answer(error: SpanplatError, body: Response | str) -> Response:
    response = make_response(body, status_of(error))
    if isinstance(error, TooMany):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _title_of(error: SpanplatError) -> str:
    match error:
        case NotFound():
            return str(_("This link leads nowhere"))
        case TooMany():
            return str(_("Please wait a moment"))
        case NothingLeft() | NotAllowed() | Conflict():
            return str(_("There is no place for you here at the moment"))
        case _:
            return str(_("This did not work"))
