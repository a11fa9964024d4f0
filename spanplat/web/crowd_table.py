"""The tables of who came to a campaign and of who took a qualification: their columns, the words to find by, and the files."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import lazy_gettext as _

from spanplat.formats.tables import Table
from spanplat.models import Qualification
from spanplat.services.pay import Person
from spanplat.services.qualifying import Candidate
from spanplat.web.names import OUTCOMES
from spanplat.web.sorted_tables import Column, SortedTable


def _words_of_person(person: Person) -> list[str]:
    marks = [str(_("left out of figures"))] if person.excluded else []
    marks += [str(_("bonus"))] if person.bonus else []
    return [person.pseudonym, person.group or "", str(OUTCOMES[person.outcome]), *marks, ", ".join(person.failed)]


PEOPLE: SortedTable[Person] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda person: person.pseudonym),
        "group": Column(_("Group"), lambda person: person.group),
        "how-it-went": Column(_("How it went"), lambda person: str(OUTCOMES[person.outcome])),
        "minutes": Column(_("Minutes"), lambda person: person.minutes, is_number=True, greatest_first=True),
        "checks-passed": Column(
            _("Checks passed"),
            lambda person: person.passed / person.checks if person.checks else None,
            is_number=True,
            greatest_first=True,
        ),
        "failed": Column(_("Failed"), lambda person: ", ".join(person.failed) or None),
        "came": Column(_("Came"), lambda person: person.began_at.isoformat(), greatest_first=True),
    },
    _words_of_person,
)


def people_file(people: Sequence[Person]) -> Table:
    """Return people by pseudonym as a table, minutes in full precision."""
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
class Standing:
    """A candidate, and what is stored about them."""

    candidate: Candidate
    stored: Qualification | None

    @property
    def who(self) -> str:
        """Whether it is a person or a model."""
        return str(_("model") if self.candidate.kind == "llm" else _("person"))

    @property
    def results(self) -> list[str]:
        """How it went, and whether that is still open."""
        decision = str(_("passed") if self.candidate.passed else _("failed"))
        return [decision, str(_("not decided"))] if self.stored and self.stored.status == "pending" else [decision]

    @property
    def expires_at(self) -> datetime | None:
        """Until when the decision is valid; None where it always is, or there is none."""
        return self.stored.expires_at if self.stored else None

    @property
    def is_valid_always(self) -> bool:
        """Whether who passed has passed for good."""
        return self.stored is not None and self.stored.status == "passed" and self.stored.expires_at is None


CANDIDATES: SortedTable[Standing] = SortedTable(
    {
        "annotator": Column(_("Annotator"), lambda standing: standing.candidate.pseudonym),
        "who": Column(_("Who"), lambda standing: standing.who),
        "score": Column(_("Score"), lambda standing: standing.candidate.score, is_number=True, greatest_first=True),
        "result": Column(_("Result"), lambda standing: ", ".join(standing.results)),
        "tries": Column(_("Tries"), lambda standing: standing.candidate.attempts, is_number=True, greatest_first=True),
        "texts": Column(_("Texts"), lambda standing: standing.candidate.outputs, is_number=True, greatest_first=True),
        "valid-until": Column(
            _("Valid until"),
            lambda standing: standing.expires_at.isoformat() if standing.expires_at else None,
            greatest_first=True,
        ),
    },
    lambda standing: [standing.candidate.pseudonym, standing.who, *standing.results],
)


def candidates_file(standings: Sequence[Standing]) -> Table:
    """Return who took a qualification by pseudonym as a table, scores in full precision."""
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
