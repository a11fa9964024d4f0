"""Prolific, https://docs.prolific.com."""

from typing import ClassVar

from spanplat.platforms.platform import ParameterNames, Platform


class Prolific(Platform):
    """Prolific: ids in the start link, and a code for each outcome in the return address."""

    name: ClassVar[str] = "prolific"
    title: ClassVar[str] = "Prolific"
    parameters: ClassVar[ParameterNames] = ParameterNames("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    completion_url: ClassVar[str] = "https://app.prolific.com/submissions/complete?cc={code}"
    tells_outcomes_by_code: ClassVar[bool] = True
    one_place_in_study: ClassVar[bool] = True

    def link_query(self, named: ParameterNames) -> str:
        """Return the query of the start link with Prolific's placeholders."""
        names = self.names(named)
        return "&".join(f"{name}={{{{%{name}%}}}}" for name in (names.person, names.study, names.session))
