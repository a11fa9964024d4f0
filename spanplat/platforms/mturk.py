"""Amazon Mechanical Turk: external questions in a frame.

https://docs.aws.amazon.com/AWSMechTurk/latest/AWSMturkAPI/ApiReference_ExternalQuestionArticle.html
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from urllib.parse import urlsplit

from spanplat.platforms.platform import Arrival, Departure, ParameterNames, Platform, PlatformIds, Rows

_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
_SUBMIT_HOSTS = frozenset({"www.mturk.com", "workersandbox.mturk.com"})


class MTurk(Platform):
    """MTurk: a preview before a worker accepts the task, and a form that submits the work."""

    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "MTurk"
    parameters: ClassVar[ParameterNames] = ParameterNames("workerId", "hitId", "assignmentId")
    also_kept: ClassVar[tuple[str, ...]] = ("turkSubmitTo",)
    has_preview: ClassVar[bool] = True
    frame_hosts: ClassVar[tuple[str, ...]] = (
        "www.mturk.com",
        "worker.mturk.com",
        "workersandbox.mturk.com",
        "requester.mturk.com",
        "requestersandbox.mturk.com",
    )
    pays_by_approval_only: ClassVar[bool] = True

    def read_arrival(self, query: Mapping[str, str], named: ParameterNames) -> Arrival:
        """Return the person who arrives, or an arrival that only previews the task."""
        if query.get(self.parameters.session) == _PREVIEW:
            return Arrival(self.name, "", "", {}, preview=True)
        return super().read_arrival(query, named)

    def departure(
        self, outcome: str, code: str | None, completion_url: str | None, parameters: Mapping[str, str]
    ) -> Departure:
        """Return the form that submits the work; without consent nothing is submitted, and the worker returns the task."""
        del completion_url
        host = _submit_host(parameters.get("turkSubmitTo", ""))
        # Without an address of MTurk there is nowhere to post, so the page only shows the code.
        if host is None:
            return Departure(code)
        if outcome == "no_consent":
            return Departure()
        fields = {"assignmentId": parameters.get(self.parameters.session, ""), "outcome": outcome}
        return Departure(code, post_to=f"https://{host}/mturk/externalSubmit", post_fields=fields)

    def approvals(self, approved: Sequence[PlatformIds]) -> Rows:
        """Return the file of reviewed results with an X under Approve."""
        return _reviewed([(ids, "X", "") for ids in approved])

    def rejections(self, rejected: Sequence[tuple[PlatformIds, str]]) -> Rows:
        """Return the file of reviewed results with the reason under Reject; the worker can read it."""
        return _reviewed([(ids, "", reason) for ids, reason in rejected])

    def bonuses(self, earned: Sequence[PlatformIds], amount: str, reason: str) -> Rows:
        """Return the file for bonuses, with four named columns."""
        header = ("WorkerId", "AssignmentId", "BonusAmount", "Reason")
        return [header, *((ids.person, ids.submission, amount, reason) for ids in earned)]


def _reviewed(reviews: Sequence[tuple[PlatformIds, str, str]]) -> Rows:
    header = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject")
    return [header, *((ids.study, ids.submission, ids.person, approve, reject) for ids, approve, reject in reviews)]


def _submit_host(submit_to: str) -> str | None:
    """Return the host of MTurk's submission address; None for any other, because the link's parameters can be forged."""
    try:
        parts = urlsplit(submit_to)
    # Not an address at all.
    except ValueError:
        return None
    # `netloc` and not `hostname`: a port or a user name in front would make another address of an allowed host.
    return parts.netloc if parts.scheme == "https" and parts.netloc in _SUBMIT_HOSTS else None
