"""The way back to each platform, with the code for how it went."""

from typing import Any

import pytest

from spanplat.platforms.departures import departure
from spanplat.platforms.platform import Departure
from spanplat.schemas.platform import PlatformSettings

CODES = {"completed": "DONE1", "screened_out": "OUT22", "failed_attention": "FAIL3", "no_consent": "BYE44"}


def platform(service: str, **more: Any) -> PlatformSettings:
    return PlatformSettings.model_validate({"service": service, "codes": CODES} | more)


@pytest.mark.parametrize(("outcome", "code"), CODES.items())
def test_prolific_gets_the_code_of_the_outcome(outcome: str, code: str) -> None:
    link = f"https://app.prolific.com/submissions/complete?cc={code}"
    assert departure(platform("prolific"), outcome, {}) == Departure(code, link=link)


def test_without_a_code_there_is_no_link_that_needs_one() -> None:
    assert departure(PlatformSettings(service="prolific"), "completed", {}) == Departure()
    plain = platform("other", codes={}, completion_url="https://pool.example/thanks")
    assert departure(plain, "completed", {}).link == "https://pool.example/thanks"


@pytest.mark.parametrize("url", ["https://pool.example/done/{code}", "https://pool.example/done?c={code}"])
def test_a_completion_address_takes_the_code(url: str) -> None:
    found = departure(platform("other", completion_url=url), "completed", {}).link
    assert found == url.replace("{code}", "DONE1")


def test_a_direct_visitor_sees_the_code_alone() -> None:
    assert departure(platform("direct"), "completed", {}) == Departure("DONE1")


@pytest.mark.parametrize("host", ["www.mturk.com", "workersandbox.mturk.com"])
def test_mturk_is_posted_to(host: str) -> None:
    sent = {"turkSubmitTo": f"https://{host}", "assignmentId": "a1"}
    found = departure(platform("mturk"), "completed", sent)
    assert found.post_to == f"https://{host}/mturk/externalSubmit"
    assert found.post_fields == {"assignmentId": "a1", "outcome": "completed"}
    assert departure(platform("mturk"), "no_consent", sent) == Departure()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://www.mturk.com",
        "https://evil.example",
        "https://www.mturk.com.evil.example",
        "https://www.mturk.com@evil.example",
        "https://evil.example/www.mturk.com",
        "//www.mturk.com",
        "https://[",
        "javascript:alert(1)",
    ],
)
def test_nothing_is_posted_to_a_host_that_is_not_mturks(address: str) -> None:
    sent = {"turkSubmitTo": address, "assignmentId": "a1"}
    assert departure(platform("mturk"), "completed", sent) == Departure("DONE1")
