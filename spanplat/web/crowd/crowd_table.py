"""Tables of participants and of qualification candidates: columns, searchable words, and downloads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.models import Qualification
from spanplat.services.crowd.pay import Person
from spanplat.services.crowd.qualifying import Candidate
from spanplat.web.names import OUTCOMES
from spanplat.web.sorted_tables import Column, SortedTable, number_column, time_column


def _words_of_person(person: Person) -> list[str]:
    marks = [str(_("left out of figures"))] if person.excluded else []
    marks += [str(_("bonus"))] if person.bonus else []
    return [person.pseudonym, person.group or "", str(OUTCOMES[person.outcome]), *marks, ", ".join(person.failed)]


PEOPLE: SortedTable[Person] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda person: person.pseudonym),
        "group": Column(_("Group"), lambda person: person.group),
        "how-it-went": Column(_("How it went"), lambda person: str(OUTCOMES[person.outcome])),
        "minutes": number_column(_("Minutes"), lambda person: person.minutes),
        "checks-passed": number_column(
            _("Checks passed"), lambda person: person.passed / person.checks if person.checks else None
        ),
        "failed": Column(_("Failed"), lambda person: ", ".join(person.failed) or None),
        "came": time_column(_("Came"), lambda person: person.began_at),
    },
    _words_of_person,
)


def people_file(people: Sequence[Person]) -> Table:
    """Return the download of participants by pseudonym, with minutes in full precision."""
    columns = ["annotator", "group", "outcome", "left_out", "bonus", "minutes", "checks", "passed", "failed", "came"]
    rows = [
        [
            person.pseudonym,
            person.group,
            str(OUTCOMES[person.outcome]),
            "yes" if person.excluded else "no",
            "yes" if person.bonus else "no",
            person.minutes,
            person.checks,
            person.passed,
            ", ".join(person.failed),
            person.began_at.isoformat(),
        ]
        for person in people
    ]
    return Table("people", columns, rows, "People of a campaign")


@dataclass(frozen=True)
class CandidateStanding:
    """Candidate with the stored decision."""

    candidate: Candidate
    stored: Qualification | None

    @property
    def who(self) -> str:
        """Whether it is a person or a model."""
        return str(_("model") if self.candidate.kind == "llm" else _("person"))

    @property
    def results(self) -> list[str]:
        """Names of the result, and of a decision that is still open."""
        decision = str(_("passed") if self.candidate.passed else _("failed"))
        return [decision, str(_("not decided"))] if self.stored and self.stored.status == "pending" else [decision]

    @property
    def expires_at(self) -> datetime | None:
        """End of the decision's validity; None if it has no end or there is no decision."""
        return self.stored.expires_at if self.stored else None

    @property
    def is_valid_always(self) -> bool:
        """Whether a passed candidate has passed without an end date."""
        return self.stored is not None and self.stored.status == "passed" and self.stored.expires_at is None


CANDIDATES: SortedTable[CandidateStanding] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda standing: standing.candidate.pseudonym),
        "who": Column(_("Who"), lambda standing: standing.who),
        "score": number_column(_("Score"), lambda standing: standing.candidate.score),
        "result": Column(_("Result"), lambda standing: ", ".join(standing.results)),
        "tries": number_column(_("Tries"), lambda standing: standing.candidate.attempts),
        "texts": number_column(_("Texts"), lambda standing: standing.candidate.outputs),
        "valid-until": time_column(_("Valid until"), lambda standing: standing.expires_at),
    },
    lambda standing: [standing.candidate.pseudonym, standing.who, *standing.results],
)


def candidates_file(standings: Sequence[CandidateStanding]) -> Table:
    """Return the download of candidates by pseudonym, with scores in full precision."""
    columns = ["annotator", "who", "score", "result", "tries", "texts", "valid_until"]
    rows = [
        [
            standing.candidate.pseudonym,
            standing.who,
            standing.candidate.score,
            ", ".join(standing.results),
            standing.candidate.attempts,
            standing.candidate.outputs,
            standing.expires_at.isoformat() if standing.expires_at else None,
        ]
        for standing in standings
    ]
    return Table("qualification", columns, rows, "Who took a qualification")
