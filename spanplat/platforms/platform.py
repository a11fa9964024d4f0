"""Base class of crowdsourcing platforms: start links, return addresses, and files for pay.

Modules of platforms do not import schemas, because the schema of definitions imports the platforms.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from spanplat.errors import InvalidInput

Rows = Sequence[Sequence[str]]
"""Rows of a CSV file."""


@dataclass(frozen=True)
class Arrival:
    """Arrival of one person by a start link."""

    source: str
    """Platform; with ``person`` it identifies the annotator."""
    person: str
    session_key: str
    """Key of the submission; a reload or a second tab has the same key."""
    parameters: dict[str, str]
    """Parameters of the start link, kept for files for pay and the return address."""
    preview: bool = False
    """Whether the platform shows the page before a worker accepts the task; the page then shows an example and takes no seat."""


@dataclass(frozen=True)
class Departure:
    """Last step of a visit: a code to show, a link to follow, or a form to post."""

    code: str | None = None
    link: str | None = None
    post_to: str | None = None
    post_fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ParameterNames:
    """Names of the parameters for the person, the study and the submission."""

    person: str
    study: str
    session: str


class PlatformIds(NamedTuple):
    """Ids of a visit on the platform."""

    person: str
    submission: str
    study: str
    """Empty if the platform did not send it."""


class Platform:
    """A source of annotators.

    The methods implement the behaviour of most platforms. A platform overrides those in which it differs.
    """

    name: ClassVar[str]
    """Name in definitions, which is also stored with each annotator."""
    title: ClassVar[str]
    """Name on pages; begins in lower case unless it is a proper name."""
    is_marketplace: ClassVar[bool] = True
    """Whether people have ids of the platform, and the platform has rules and pays them after an approval."""
    parameters: ClassVar[ParameterNames | None] = None
    """Parameters of the start links; None if the definition names them."""
    also_kept: ClassVar[tuple[str, ...]] = ()
    """Further parameters of the start links that are stored."""
    has_preview: ClassVar[bool] = False
    """Whether people see the task before they accept it."""
    frame_hosts: ClassVar[tuple[str, ...]] = ()
    """Hosts that show the task in a frame, and to which the last page may lead."""
    completion_url: ClassVar[str | None] = None
    """Default return address, with ``{code}`` for the completion code."""
    tells_outcomes_by_code: ClassVar[bool] = False
    """Whether the platform has a code for each outcome and decides by it about pay; a missing code gives a warning."""
    one_place_in_study: ClassVar[bool] = False
    """Whether one person gets only one place in a study, so that nobody can take a second batch."""
    pays_by_approval_only: ClassVar[bool] = False
    """Whether approval is the only way to pay, so that work which a check ended early is approved too."""

    def names(self, named: ParameterNames) -> ParameterNames:
        """Return the names of the parameters; ``named`` are the names in the definition."""
        return self.parameters or named

    def link_query(self, named: ParameterNames) -> str:
        """Return the query of the start link with the platform's placeholders; empty if there are none."""
        del named
        return ""

    def read_arrival(self, query: Mapping[str, str], named: ParameterNames) -> Arrival:
        """Return the person and the visit in the query of a start link.

        The caller has checked the query for length and control characters.

        Raises
        ------
        InvalidInput
            If the query does not name a person.
        """
        names = self.names(named)
        person = query.get(names.person, "").strip()
        if not person:
            raise InvalidInput(
                f"the link does not say who you are: it has no {names.person}. "
                "Please go back to the study's page and open it from there"
            )
        # A pool may send no session. Then each person has one visit to a study.
        session = query.get(names.session, "").strip() or person
        kept = (names.person, names.study, names.session, *self.also_kept)
        # With the person, because a researcher's own pool may give everybody the same session. As JSON, so that no separator inside
        # an id can make two visits look alike.
        key = json.dumps([self.name, query.get(names.study, ""), person, session], ensure_ascii=False)
        return Arrival(self.name, person, key, {name: query[name] for name in kept if name in query})

    def departure(
        self, outcome: str, code: str | None, completion_url: str | None, parameters: Mapping[str, str]
    ) -> Departure:
        """Return the last step of a visit.

        Parameters
        ----------
        outcome
            ``completed``, ``failed_attention``, ``screened_out`` or ``no_consent``.
        code
            Code of this outcome; None if the definition has none.
        completion_url
            Return address in the definition.
        parameters
            Parameters of the start link.
        """
        del outcome, parameters
        pattern = completion_url or self.completion_url
        if pattern is None or (code is None and ("{code}" in pattern or "%7Bcode%7D" in pattern)):
            return Departure(code)
        # pydantic writes braces in the path of an address as "%7B" and "%7D".
        return Departure(code, link=pattern.replace("%7Bcode%7D", "{code}").replace("{code}", code or ""))

    def ids(self, person: str, parameters: Mapping[str, str], named: ParameterNames) -> PlatformIds:
        """Return the platform's ids of a visit, from the id of the person and the parameters of the start link."""
        names = self.names(named)
        return PlatformIds(person, str(parameters.get(names.session, "")), str(parameters.get(names.study, "")))

    def approvals(self, approved: Sequence[PlatformIds]) -> Rows:
        """Return the file by which work is approved: ids of people, one a line."""
        return [(person,) for person in dict.fromkeys(ids.person for ids in approved)]

    def rejections(self, rejected: Sequence[tuple[PlatformIds, str]]) -> Rows:
        """Return the file of work to reject, each with the reason."""
        return [("platform_id", "submission", "reason"), *((ids.person, ids.submission, why) for ids, why in rejected)]

    def bonuses(self, earned: Sequence[PlatformIds], amount: str, reason: str) -> Rows:
        """Return the file by which bonuses are paid: ids of people and the amount."""
        del reason
        return [(ids.person, amount) for ids in earned]
