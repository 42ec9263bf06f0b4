"""The answers to messages, their receivers and their order, for a real client on a wire."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

import pytest

from mesh.client.core.verdicts import REMEMBERED
from mesh.client.receipt import Receipt
from mesh.errors import BadQuery, CircularLoop, Closed, Expired, MasterAway, PublishRefused, TailBackFull
from mesh.values import Published, message_id
from mesh.wire import commands as c
from tests.mesh.client.wired import WAITS, Wired, scenario, turns, wired


async def refusal(waiting: Coroutine[Any, Any, Published]) -> PublishRefused:
    with pytest.raises(PublishRefused) as caught:
        await waiting
    return caught.value


@scenario
async def test_a_receipt_resolves_at_the_first_answer_and_says_what_it_waits_for(bench: Wired) -> None:
    receipt = bench.post()
    waiting = asyncio.ensure_future(bench.client._result(receipt))
    await asyncio.sleep(0)
    bench.warn(1, 1)
    published = await waiting
    assert (published.state, published.ok, published.note) == ("FORWARD_WARNING", False, WAITS)
    assert bench.client.waiting() == (1, WAITS)


@scenario
async def test_the_last_word_comes_after_the_warning(bench: Wired) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    last = [asyncio.ensure_future(bench.client.final(m)) for m in (receipt, await receipt)]
    await asyncio.sleep(0)
    assert not any(waiting.done() for waiting in last)
    bench.answer(1, 1, matched=2)
    assert [(p.state, p.matched, p.id) for p in await asyncio.gather(*last)] == [("OK", 2, receipt.id)] * 2
    assert bench.client.waiting() == (0, "")
    assert (await bench.client.final(receipt)).ok
    assert (await receipt).ok, "what is asked late hears the newest answer"


@scenario
async def test_what_is_ok_at_once_is_final_at_once(bench: Wired) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 1, matched=7)
    published = await receipt
    assert await bench.client.final(published) is published
    assert (await bench.client.final(receipt)).matched == 7


@scenario
async def test_flush_waits_for_first_answers_only(bench: Wired) -> None:
    bench.post()
    flushing = asyncio.ensure_future(bench.client.flush())
    await asyncio.sleep(0)
    assert not flushing.done()
    bench.warn(1, 1)
    await flushing


@scenario
async def test_a_refusal_that_nobody_awaited_is_raised_by_flush_once(bench: Wired) -> None:
    for _ in range(3):
        bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 2, "TAILBACK_FULL", "no room.")
    bench.answer(3, 3)
    with pytest.raises(TailBackFull, match="no room"):
        await bench.client.flush()
    await bench.client.flush()
    assert await bench.later() == []


@scenario
async def test_a_refusal_after_a_warning_is_told_as_an_event_and_does_not_fail_flush(bench: Wired) -> None:
    first, second = bench.post(), bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 2)
    bench.answer(1, 2, "EXPIRED", "it waited too long. [EXPIRED]")
    await bench.client.flush()
    assert [name for name, _ in await bench.later()] == [first.id, second.id]
    assert (await bench.later())[0][1] == "it waited too long. [EXPIRED]"
    assert isinstance(await refusal(bench.client.final(first)), Expired), "who asks late hears it too"
    assert bench.client.waiting() == (0, "")


@scenario
async def test_a_refusal_after_a_warning_that_is_awaited_is_raised_and_no_event(bench: Wired) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    last = asyncio.ensure_future(refusal(bench.client.final(receipt)))
    await asyncio.sleep(0)
    bench.answer(1, 1, "CIRCULAR_LOOP", "x -> y -> x")
    assert isinstance(await last, CircularLoop)
    assert await bench.later() == []


@scenario
async def test_one_refusal_can_be_the_first_answer_to_some_and_the_second_to_others(bench: Wired) -> None:
    receipts = [bench.post() for _ in range(4)]
    await asyncio.sleep(0)
    bench.warn(2, 3)
    bench.answer(1, 4, "MASTER_AWAY", "away.")
    assert [name for name, _ in await bench.later()] == [receipts[1].id, receipts[2].id]
    with pytest.raises(MasterAway):
        await bench.client.flush()


@scenario
async def test_who_gives_up_waiting_does_not_swallow_the_refusal(bench: Wired) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(bench.client.final(receipt), timeout=0)
    bench.answer(1, 1, "EXPIRED")
    assert [name for name, _ in await bench.later()] == [receipt.id]


@scenario
async def test_an_answer_that_is_said_again_changes_nothing(bench: Wired) -> None:
    receipt = bench.post()
    await asyncio.sleep(0)
    bench.warn(1, 1)
    bench.answer(1, 1)
    for state in ("FORWARD_WARNING", "OK", "EXPIRED"):
        bench.answer(1, 1, state)
    assert (await bench.client.final(receipt)).ok
    assert await bench.later() == []


@scenario
async def test_refusals_are_still_known_when_many_answers_have_followed(bench: Wired) -> None:
    refused, waiting, fine = bench.post(), bench.post(), bench.post()
    await asyncio.sleep(0)
    bench.answer(1, 1, "EXPIRED", "too late.")
    bench.warn(2, 2)
    bench.answer(3, 3)
    for _ in range(REMEMBERED + 10):
        number = bench.post().number
        await asyncio.sleep(0)
        bench.answer(number, number)
    with pytest.raises(PublishRefused, match="too late"):
        await bench.client.flush()
    assert isinstance(await refusal(bench.client._result(refused)), Expired)
    assert (await waiting).state == "FORWARD_WARNING"
    assert (await fine).ok


@scenario
async def test_no_refusal_is_ever_taken_for_ok_however_many_there_were(bench: Wired) -> None:
    receipts = []
    for _ in range(REMEMBERED + 10):
        receipts.append(bench.post())
        await asyncio.sleep(0)
        bench.answer(receipts[-1].number, receipts[-1].number, "EXPIRED", "too late.")
    with pytest.raises(Expired):
        await bench.client.flush()
    assert "no longer known" in (await refusal(bench.client.final(receipts[0]))).what
    assert isinstance(await refusal(bench.client.final(receipts[-1])), Expired)


@pytest.mark.parametrize("number", [2, 100])
def test_what_this_session_did_not_publish_has_no_last_word_here(number: int) -> None:
    @scenario
    async def told(bench: Wired) -> None:
        bench.post()
        await asyncio.sleep(0)
        bench.answer(1, 1)
        async with wired() as elsewhere:
            other = elsewhere.post()
        strangers: list[Published | Receipt] = [
            Published("FORWARD_WARNING", message_id(bench.client._stream, "", number), 0),
            Published("FORWARD_WARNING", message_id(bench.client._stream, "elsewhere", 1), 0),
            Published("OK", message_id(b"t" * 16, "", 1), 0),
            Published("OK", "no id at all", 0),
            other,
        ]
        for stranger in strangers:
            with pytest.raises(BadQuery, match=r"not published by this session|not the id of"):
                await bench.client.final(stranger)

    told()


@scenario
async def test_an_erase_waits_for_what_was_posted_until_now_while_more_is_posted(bench: Wired) -> None:
    bench.post(b"1")
    bench.post(b"2", domain="D")
    erasing = asyncio.ensure_future(bench.client.erase("k"))
    await asyncio.sleep(0)
    bench.post(b"3")
    bench.answer(1, 1, "EXPIRED")
    await turns()
    assert not [said for said in bench.wire.said if isinstance(said, c.Call)]
    bench.answer(1, 1, "FORWARD_WARNING", domain="D")
    await turns()
    [call] = [said for said in bench.wire.said if isinstance(said, c.Call)]
    bench.hear(c.Reply(call.request, {"erased": ["k"]}))
    assert await erasing == ["k"]


@scenario
async def test_an_erase_by_xpath_looks_for_topics_after_what_was_posted(bench: Wired) -> None:
    bench.post()
    erasing = asyncio.ensure_future(bench.client.erase(xpath="//a"))
    await turns()
    assert not [said for said in bench.wire.said if isinstance(said, c.Call)]
    bench.answer(1, 1)
    await turns()
    assert [said.verb for said in bench.wire.said if isinstance(said, c.Call)] == ["get"]
    erasing.cancel()


@scenario
async def test_closing_tells_all_who_wait_and_all_who_ask_later(bench: Wired) -> None:
    receipt = bench.post()
    waiting = [
        asyncio.ensure_future(w)
        for w in (
            bench.client._result(receipt),
            bench.client.final(receipt),
            bench.client.flush(),
            bench.client.erase("k"),
        )
    ]
    await asyncio.sleep(0)
    await bench.client.close(drain=False)
    for each in (*waiting, bench.client._result(receipt)):
        with pytest.raises(Closed):
            await each
