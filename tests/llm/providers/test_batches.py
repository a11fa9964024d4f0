"""Batches: submission, state, results, and search after a lost answer."""

from datetime import UTC, datetime, timedelta

from spanplat.llm.provider import (
    BatchSearch,
    CallFailed,
    ModelReply,
    SubmittedBatch,
    batch_mark,
)
from tests.asynchronous import run
from tests.llm.providers.asking import Make, request
from tests.standin.script import Reply, Trouble
from tests.standin.server import StandIn


def test_a_batch_is_handed_in_waited_for_and_fetched_with_its_errors(standin: StandIn, make: Make) -> None:
    standin.script = lambda call: (
        Trouble(400, "too long", "invalid") if "bad" in call.prompt else Reply(tokens=(5, 3, 0))
    )

    async def ask() -> tuple[list[bool], dict[str, ModelReply | CallFailed], int]:
        provider = make()
        requests = {"a-1": request("good"), "a-2": request("bad")}
        batch = await provider.submit_batch("a", requests)
        before = await provider.batch_state(batch)
        standin.batches.finish()
        after = await provider.batch_state(batch)
        results = {name: result async for name, result in provider.batch_results(batch)}
        await provider.close()
        return [before.ended, after.ended], results, after.failed

    ended, results, failed = run(ask())
    assert (ended, failed) == ([False, True], 1)
    good, bad = results["a-1"], results["a-2"]
    assert isinstance(good, ModelReply)
    assert (good.text, good.usage.input_tokens, good.usage.output_tokens) == ('{"annotations": []}', 5, 3)
    assert isinstance(bad, CallFailed)
    assert "too long" in str(bad)


def test_a_batch_whose_id_was_lost_is_found_again(standin: StandIn, make: Make) -> None:
    async def ask() -> tuple[str, BatchSearch, BatchSearch, BatchSearch]:
        provider, now = make(), datetime.now(UTC)
        key = "somewhere:17:0a1b:9f8e"
        batch = await provider.submit_batch(key, {f"{batch_mark(key)}1-2": request()})
        await provider.submit_batch("somewhere:17:0a1b:77aa", {f"77aa-1-{number}": request() for number in range(2)})
        at_once = await provider.find_batch(SubmittedBatch(key, 1, now))
        standin.batches.finish()
        found = await provider.find_batch(SubmittedBatch(key, 1, now))
        other = await provider.find_batch(SubmittedBatch("somewhere:17:0a1b:0000", 1, now))
        await provider.close()
        return batch, at_once, found, other

    batch, at_once, found, other = run(ask())
    assert at_once in (BatchSearch(batch), BatchSearch(unclear=True))
    assert (found, other) == (BatchSearch(batch), BatchSearch())


def test_an_old_batch_and_one_known_to_be_another_are_not_looked_at(make: Make) -> None:
    async def ask() -> list[BatchSearch]:
        provider, now = make(), datetime.now(UTC)
        batch = await provider.submit_batch("a:1:b:9f8e", {"9f8e-1-2": request()})
        searches = [
            await provider.find_batch(SubmittedBatch("a:1:b:0000", 1, now, frozenset({batch}))),
            await provider.find_batch(SubmittedBatch("a:1:b:0000", 1, now + timedelta(hours=1))),
        ]
        await provider.close()
        return searches

    assert run(ask()) == [BatchSearch(), BatchSearch()]
