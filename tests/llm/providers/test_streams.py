"""A streamed reply has the same content as a whole one."""

import json
from typing import Any

import pytest

from tests.asynchronous import run
from tests.llm.providers.asking import KEY, SCHEMA, Make, complete, failure, provider_of, request
from tests.standin.script import Cut, Reply, Trouble, always
from tests.standin.server import StandIn


@pytest.mark.parametrize(
    ("interface", "parts"),
    [("chat", {}), ("responses", {}), ("messages", {}), ("messages", {"reply_format": "tool"})],
)
def test_a_stream_gives_what_a_whole_reply_gives(standin: StandIn, interface: str, parts: dict[str, Any]) -> None:
    standin.script = always(Reply('{"annotations": [{"text": "é"}]}', reasoning="It does rain.", tokens=(30, 12, 7)))
    whole = complete(provider_of(interface, standin, **parts), request(schema=SCHEMA))
    streamed = complete(provider_of(interface, standin, stream=True, **parts), request(schema=SCHEMA))
    assert [bool(call.body.get("stream")) for call in standin.ledger.calls] == [False, True]
    for name in ("reasoning", "model_version", "finish_reason", "usage"):
        assert getattr(streamed, name) == getattr(whole, name), name
    assert json.loads(streamed.text) == json.loads(whole.text) == {"annotations": [{"text": "é"}]}


@pytest.mark.parametrize("finish", ["length", "refusal"])
def test_a_stream_tells_of_a_reply_cut_at_its_length_and_of_a_refusal(
    standin: StandIn, make: Make, finish: str
) -> None:
    standin.script = always(Reply("I would rather", finish=finish))
    completion = complete(make(stream=True))
    assert (completion.finish_reason, completion.text) == (finish, "I would rather")


@pytest.mark.parametrize("politely", [True, False])
def test_a_stream_that_ends_too_early_is_a_lost_connection_and_no_reply(
    standin: StandIn, make: Make, politely: bool
) -> None:
    standin.script = always(Cut(politely=politely))
    assert failure(make(stream=True)).kind == "connection"


@pytest.mark.parametrize(("code", "status"), [("overloaded_error", 529), ("rate_limit_error", 429), ("odd", 500)])
def test_an_error_within_a_stream_has_its_status_and_hides_keys(
    standin: StandIn, make: Make, code: str, status: int
) -> None:
    standin.script = always(Trouble(503, f"too much for {KEY}", code, within=True))
    failed = failure(make(stream=True))
    assert (failed.kind, failed.status, failed.code) == ("status", status, code)
    assert "too much for [key hidden]" in str(failed)


@pytest.mark.parametrize(
    ("parts", "streams"),
    [
        ({}, False),
        ({"stream": True}, True),
        ({"parameters": {"max_tokens": 32_768}}, True),
        ({"parameters": {"max_tokens": 32_768}, "stream": False}, False),
        ({"parameters": {"max_tokens": 1024}}, False),
        ({"timeout": 1800}, True),
        ({"mode": "batch", "stream": True}, False),
    ],
)
def test_replies_that_may_be_long_come_as_streams_unless_the_definition_says_otherwise(
    make: Make, parts: dict[str, Any], streams: bool
) -> None:
    provider = make(**parts)
    assert ("stream" in provider.body(request())) == streams
    run(provider.close())
