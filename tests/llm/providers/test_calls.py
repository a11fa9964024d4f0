"""Each provider through its SDK over real HTTP: request bodies, parsed responses, and failures."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spanplat.llm.allowance import Remaining
from spanplat.llm.provider import (
    CallFailed,
)
from spanplat.llm.providers.scripted import ScriptedProvider
from tests.llm.providers.asking import KEY, SCHEMA, Make, complete, failure, provider_of, request
from tests.standin.script import Answer, Cut, Hang, Raw, Reply, Trouble, always
from tests.standin.server import StandIn


def test_a_reply_is_read_with_its_reasoning_tokens_and_version(standin: StandIn, make: Make) -> None:
    standin.script = always(Reply('{"annotations": []}', reasoning="It does rain.", tokens=(30, 12, 7)))
    completion = complete(make())
    assert (completion.text, completion.reasoning) == ('{"annotations": []}', "It does rain.")
    assert (completion.model_version, completion.finish_reason) == ("tiny-2026-01-01", "stop")
    usage = completion.usage
    assert (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens) == (30, 12, 7)
    assert completion.latency > 0
    assert json.loads(json.dumps(completion.response)) == completion.response


def test_what_is_sent_is_what_the_body_says_with_the_parameters_as_they_stand(standin: StandIn, make: Make) -> None:
    provider = make()
    asked = request(schema=SCHEMA, parameters={"temperature": 0.001, "top_p": 1, "something_new": {"a": [1]}})
    complete(provider, asked)
    call = standin.ledger.calls[0]
    assert call.body == provider.body(asked)
    assert call.body["temperature"] == 0.001
    assert call.body["something_new"] == {"a": [1]}
    assert call.prompt == "Be exact.\nAnnotate: It rains."
    assert SCHEMA in _values(call.body)
    assert KEY not in json.dumps(call.body)


def _values(value: Any) -> Iterator[Any]:
    yield value
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(entry)


def test_without_a_schema_no_form_is_asked_for(standin: StandIn, make: Make) -> None:
    complete(make())
    assert not {"response_format", "text", "output_config", "tools"} & set(standin.ledger.calls[0].body)


def test_the_schema_can_be_left_to_the_words(standin: StandIn, make: Make) -> None:
    complete(make(reply_format="text"), request(schema=SCHEMA))
    assert SCHEMA not in _values(standin.ledger.calls[0].body)


def test_a_compatible_server_can_be_asked_for_any_json(standin: StandIn) -> None:
    complete(provider_of("chat", standin, reply_format="json"), request(schema=SCHEMA))
    complete(provider_of("responses", standin, reply_format="json"), request(schema=SCHEMA))
    chat, responses = (call.body for call in standin.ledger.calls)
    assert chat["response_format"] == {"type": "json_object"}
    assert responses["text"] == {"format": {"type": "json_object"}}


def test_anthropic_can_be_asked_by_a_tool_whose_input_is_the_reply(standin: StandIn) -> None:
    standin.script = always(Reply('{"annotations": [{"text": "é"}]}'))
    completion = complete(provider_of("messages", standin, reply_format="tool"), request(schema=SCHEMA))
    assert json.loads(completion.text) == {"annotations": [{"text": "é"}]}
    assert completion.finish_reason == "stop"
    assert standin.ledger.calls[0].body["tool_choice"]["type"] == "tool"


def test_anthropic_gets_the_system_message_apart_and_a_longest_reply(standin: StandIn) -> None:
    complete(provider_of("messages", standin))
    body = standin.ledger.calls[0].body
    assert (body["system"], body["max_tokens"]) == ("Be exact.", 4096)
    assert [message["role"] for message in body["messages"]] == ["user"]


@pytest.mark.parametrize(("finish", "expected"), [("length", "length"), ("refusal", "refusal")])
def test_a_reply_cut_at_its_length_and_a_refusal_are_told(
    standin: StandIn, make: Make, finish: str, expected: str
) -> None:
    standin.script = always(Reply("I would rather", finish=finish))
    completion = complete(make())
    assert (completion.finish_reason, completion.text) == (expected, "I would rather")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 529])
def test_an_error_keeps_its_status_its_words_and_when_to_come_back_and_is_not_tried_again_by_the_sdk(
    standin: StandIn, make: Make, status: int
) -> None:
    standin.script = always(Trouble(status, f"no, {KEY}", "some_code", {"retry-after": "7"}))
    failed = failure(make())
    assert (failed.kind, failed.status, failed.code, failed.retry_after) == ("status", status, "some_code", 7.0)
    assert str(failed) == f"the server answers {status}: no, [key hidden]"
    assert len(standin.ledger.calls) == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_with_what_would_help(
    standin: StandIn, make: Make, message: str, code: str
) -> None:
    standin.script = always(Trouble(400, message, code))
    said = str(failure(make()))
    assert said.startswith(f"the server answers 400: {message.rstrip('.')}; use a shorter prompt")


def test_a_wrong_key_is_told_without_the_key(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "mistyped-key-0123456789")
    failed = failure(make())
    assert failed.status == 401
    assert "0123456789" not in str(failed)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Cut(), "connection"),
        (Raw("<html>Welcome</html>", "text/html"), "unintelligible"),
        (Raw('{"annotations": []}'), "unintelligible"),
        (Raw('{"choices": [], "content": 3, "output": "x"}'), "unintelligible"),
        (Raw('{"cut'), "unintelligible"),
        (Raw("[1, 2]"), "unintelligible"),
    ],
)
def test_what_is_no_reply_of_the_interface_is_told_as_such(
    standin: StandIn, make: Make, answer: Answer, kind: str
) -> None:
    standin.script = always(answer)
    assert failure(make()).kind == kind


def test_a_server_that_is_silent_for_too_long_has_timed_out(standin: StandIn, make: Make) -> None:
    standin.script = always(Hang())
    assert failure(make(timeout=0.2)).kind == "timeout"


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_is_not_there_was_not_reached(make: Make, stream: bool) -> None:
    failed = failure(make(base_url="http://127.0.0.1:9/v1", stream=stream))
    assert failed.kind == "unreachable"
    assert str(failed).startswith("the server cannot be reached: ")


def test_an_error_in_a_response_that_claims_to_be_in_order_is_told(standin: StandIn, make: Make) -> None:
    standin.script = always(Raw(json.dumps({"error": {"code": 429, "message": f"{KEY} is busy"}})))
    failed = failure(make())
    assert (failed.status, str(failed)) == (429, "the server reports: [key hidden] is busy")


def test_what_may_still_be_asked_is_read_from_the_headers(make: Make) -> None:
    allowance = complete(make()).allowance
    assert allowance is not None
    assert allowance.requests is not None
    assert allowance.requests == Remaining(left=999, limit=1000, refilled=allowance.requests.refilled)
    assert allowance.requests.refilled == pytest.approx(0.06, abs=0.06)


def test_the_scripted_provider_answers_fails_and_remembers() -> None:
    provider = ScriptedProvider(lambda asked: CallFailed("no", status=500) if "bad" in asked.item.text else "fine")
    assert complete(provider).text == "fine"
    with pytest.raises(CallFailed):
        complete(provider, request("bad"))
    assert [asked.item.text for asked in provider.asked] == ["It rains.", "bad"]
