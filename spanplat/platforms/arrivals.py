"""How people arrive from each crowdsourcing platform: reading the parameters of a start link."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from spanplat.errors import InvalidInput
from spanplat.schemas.platform import PlatformSettings

MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
MAX_PARAMETER_LENGTH = 200


@dataclass(frozen=True)
class Arrival:
    """One person at the door."""

    source: str
    """Platform; with ``person`` it identifies the annotator."""
    person: str
    session_key: str
    """Identifies the submission; a reload or a second tab has the same."""
    parameters: dict[str, str]
    """What the platform sent, kept for pay files and the way back."""
    preview: bool = False
    """MTurk shows the page before the work is accepted: show an example, claim nothing."""


@dataclass(frozen=True)
class ParameterNames:
    """Names of the parameters by which a platform says who comes, in which study, for which submission."""

    person: str
    study: str
    session: str


PROLIFIC = ParameterNames("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
MTURK = ParameterNames("workerId", "hitId", "assignmentId")


def read_arrival(settings: PlatformSettings, query: Mapping[str, str]) -> Arrival:
    """Tell from the query of a start link who arrives.

    Raises
    ------
    InvalidInput
        If the platform's parameters are missing, too long, or hold control characters.
    """
    signature = settings.signed.parameter if settings.signed else None  # a token is long, and checked on its own
    query = {name: value for name, value in query.items() if name != signature}
    if any(len(value) > MAX_PARAMETER_LENGTH for value in query.values()):
        raise InvalidInput(f"a parameter of the link is longer than {MAX_PARAMETER_LENGTH} characters")
    if not all(value.isprintable() for value in query.values()):
        raise InvalidInput(
            "a parameter of the link holds characters that no id has; please open the link from where you got it"
        )
    match settings.service:
        case "direct":
            person = query.get("annotator", "").strip() or f"anonymous-{secrets.token_hex(8)}"
            return Arrival("direct", person, f"direct:{person}", {"annotator": person} if "annotator" in query else {})
        case "prolific":
            return _named(settings.service, PROLIFIC, query)
        case "mturk":
            if query.get("assignmentId") == MTURK_PREVIEW:
                return Arrival("mturk", "", "", {}, preview=True)
            return _named(settings.service, MTURK, query, also=("turkSubmitTo",))
        case "other":
            names = settings.parameters
            return _named("other", ParameterNames(names.person, names.study, names.session), query)


def _named(service: str, names: ParameterNames, query: Mapping[str, str], also: tuple[str, ...] = ()) -> Arrival:
    person = query.get(names.person, "").strip()
    if not person:
        raise InvalidInput(
            f"the link does not say who you are: it has no {names.person}. Please go back to the study's page and open it from there"
        )
    session = query.get(names.session, "").strip() or person
    parameters = {name: query[name] for name in (names.person, names.study, names.session, *also) if name in query}
    # With the person, because a home-made pool may give everybody the same session.
    key = json.dumps([service, query.get(names.study, ""), person, session], ensure_ascii=False)
    return Arrival(service, person, key, parameters)
