"""Who arrives by a start link, from each platform."""

import pytest

from spanplat.errors import InvalidInput
from spanplat.platforms.arrivals import read_arrival
from spanplat.schemas.platform import PlatformSettings

DIRECT, PROLIFIC, MTURK = (PlatformSettings(service=s) for s in ("direct", "prolific", "mturk"))
OTHER = PlatformSettings.model_validate({"service": "other", "parameters": {"person": "uid", "session": "sid"}})
PROLIFIC_QUERY = {"PROLIFIC_PID": "ann", "STUDY_ID": "st", "SESSION_ID": "s1"}


def test_prolific_names_person_study_and_session() -> None:
    arrival = read_arrival(PROLIFIC, PROLIFIC_QUERY | {"utm": "x"})
    assert (arrival.source, arrival.person, arrival.parameters) == ("prolific", "ann", PROLIFIC_QUERY)


def test_a_reload_has_the_same_session_and_another_submission_or_person_another() -> None:
    keys = [
        read_arrival(PROLIFIC, PROLIFIC_QUERY | change).session_key
        for change in ({}, {}, {"SESSION_ID": "s2"}, {"STUDY_ID": "st2"}, {"PROLIFIC_PID": "bob"})
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4


def test_a_pool_that_gives_everybody_one_session_still_tells_people_apart() -> None:
    ann, bob = (read_arrival(OTHER, {"uid": person, "sid": "monday"}) for person in ("ann", "bob"))
    assert ann.session_key != bob.session_key
    assert (ann.source, ann.person) == ("other", "ann")


@pytest.mark.parametrize(("settings", "name"), [(PROLIFIC, "PROLIFIC_PID"), (MTURK, "workerId"), (OTHER, "uid")])
@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_link_without_the_person_says_what_to_do(settings: PlatformSettings, name: str, value: str | None) -> None:
    query = {} if value is None else {name: value}
    with pytest.raises(InvalidInput, match=f"it has no {name}. Please go back to the study's page"):
        read_arrival(settings, query)


def test_mturk_shows_a_preview_before_the_work_is_accepted() -> None:
    preview = read_arrival(MTURK, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "h"})
    assert preview.preview
    query = {"workerId": "w", "hitId": "h", "assignmentId": "a", "turkSubmitTo": "https://www.mturk.com"}
    accepted = read_arrival(MTURK, query)
    assert not accepted.preview
    assert (accepted.person, accepted.parameters) == ("w", query)


def test_direct_visitors_have_a_name_or_are_strangers_each_time() -> None:
    assert read_arrival(DIRECT, {"annotator": " ann "}).person == "ann"
    strangers = {
        read_arrival(DIRECT, {"annotator": value}).session_key for value in ("", " ", "\N{NO-BREAK SPACE}"[:0])
    }
    assert len(strangers) == 3


@pytest.mark.parametrize(("value", "reason"), [("x" * 201, "longer than 200 characters"), ("a\x00b", "no id has")])
def test_parameters_that_are_no_ids_are_refused(value: str, reason: str) -> None:
    for settings in (DIRECT, PROLIFIC, MTURK, OTHER):
        with pytest.raises(InvalidInput, match=reason):
            read_arrival(settings, {"PROLIFIC_PID": value})
