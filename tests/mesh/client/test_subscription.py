"""How messages of a subscription are taken, returned and counted, for a real client on a wire."""

import asyncio
import contextlib
import logging

import pytest

from mesh.client.core.intake import Intake
from mesh.client.subscription import Subscription
from mesh.errors import BadContent, BadPattern, BadQuery, Closed, SlowConsumer
from mesh.wire import commands as c
from mesh.wire.envelope import INITIAL
from tests.mesh.client.wired import Wired, scenario, turns
from tests.mesh.envelopes import envelope
from tests.waiting import LIMIT, eventually

INBOX = 0


def used(s: Subscription) -> int:
    """Return the number of consumed items, in whose place the node may send others."""
    return sum(strand.used for strand in s._intake.strands if isinstance(strand, Intake))


@scenario
async def test_what_was_taken_singly_counts_when_it_is_left(it: Wired) -> None:
    async with it.client.subscribe("k") as s:
        it.deliver(1, envelope("a b"))
        for _ in range(2):
            await anext(s)
    assert used(s) == 1


@scenario
async def test_what_is_left_of_a_batch_does_not_count_and_can_still_be_read(it: Wired) -> None:
    async with it.client.subscribe("k") as s:
        it.deliver(1, envelope("a b c"))
        await anext(s)
    assert used(s) == 0
    assert [(await anext(s)).key for _ in range(2)] == ["b", "c"]
    assert [message async for message in s] == [] and used(s) == 1


@scenario
async def test_what_is_left_of_a_batch_of_an_inbox_is_the_first_that_comes_when_it_is_opened_again(
    it: Wired,
) -> None:
    async with it.client.inbox() as s:
        it.deliver(INBOX, envelope("a b c"))
        await anext(s)
    assert used(s) == 0
    async with it.client.inbox() as s:
        assert [(await anext(s)).key for _ in range(2)] == ["b", "c"]
    assert used(s) == 1


@scenario
async def test_a_batch_whose_use_failed_does_not_count_and_is_given_again_whole(it: Wired) -> None:
    for n in range(2):
        with contextlib.suppress(ValueError):
            async with it.client.inbox() as s:
                if not n:
                    it.deliver(INBOX, envelope("a b"))
                assert (await anext(s)).key == "a"
                raise ValueError
    assert used(s) == 0


@scenario
async def test_an_inbox_that_is_left_ends_and_goes_on_when_it_is_opened_again(it: Wired) -> None:
    s = it.client.inbox()
    async with s:
        for first in (1, 2):
            it.deliver(INBOX, envelope(first=first))
        await anext(s)
    it.deliver(INBOX, envelope(first=3))
    assert [message async for message in s] == []
    async with s:
        assert [message.id[-1] for message in [await anext(s), await anext(s)]] == ["2", "3"]
        waiting = asyncio.ensure_future(anext(s, None))
        await asyncio.sleep(0)
    assert (await waiting, used(s)) == (None, 3)


@scenario
async def test_what_arrived_can_be_taken_after_the_end_and_then_the_end_is_told(it: Wired) -> None:
    async with it.client.subscribe("k") as s:
        it.deliver(1, envelope("a"))
        it.hear(c.Ended(1, SlowConsumer.code, "too slow"))
        assert (await anext(s)).key == "a"
        with pytest.raises(SlowConsumer, match="too slow"):
            await anext(s)
    assert not [said for said in it.wire.said if isinstance(said, c.Unsubscribe)][1:], "told once"


@scenario
async def test_who_gives_up_entering_leaves_nothing_at_the_node(it: Wired) -> None:
    it.wire.is_deaf = True
    s = it.client.subscribe("k")
    entering = asyncio.ensure_future(s.__aenter__())
    await turns()
    entering.cancel()
    await turns()
    asked = [said for said in it.wire.said if isinstance(said, c.Subscribe | c.Unsubscribe)]
    assert [type(said) for said in asked[-2:]] == [c.Subscribe, c.Unsubscribe]
    await it.lose()
    again = it.wire.said[it.wire.said.index(c.Unsubscribe(2, 1)) + 1 :]
    assert not [said for said in again if isinstance(said, c.Subscribe)]


@scenario
async def test_what_is_counted_elsewhere_is_still_told_to_the_node_later(it: Wired) -> None:
    """The first acknowledgement from another thread fails, and no later one."""
    async with it.client.subscribe("k") as s:
        for first in (1, 2):
            it.deliver(1, envelope(first=first))
        await s._next_batch()
        with contextlib.suppress(Exception):
            await asyncio.to_thread(s._count)
        await s._next_batch()
        s._count()
        await eventually(
            lambda: [said for said in it.wire.said if isinstance(said, c.Ack) and said.taken == ((1, 2),)]
        )


@scenario
async def test_a_subscription_of_a_client_that_is_closed_ends(it: Wired) -> None:
    async with it.client.subscribe("k") as s:
        it.deliver(1, envelope("a"))
        await it.client.close(drain=False)
        assert [message.key async for message in s] == ["a"]
    with pytest.raises(Closed):
        await s.__aenter__()


@scenario
async def test_who_reads_what_was_never_entered_is_told_and_does_not_wait_for_ever(it: Wired) -> None:
    for s in (it.client.subscribe("k"), it.client.subscribe("a", "b"), it.client.inbox()):
        with pytest.raises(Closed, match="not open"):
            await asyncio.wait_for(anext(s), LIMIT)


@scenario
async def test_one_that_was_left_is_not_entered_again_but_an_inbox_is(it: Wired) -> None:
    for s in (it.client.subscribe("k"), it.client.subscribe("a", "b")):
        async with s:
            pass
        with pytest.raises(Closed, match="has ended"):
            await s.__aenter__()
    inbox = it.client.inbox()
    for first in (1, 2):
        async with inbox:
            it.deliver(INBOX, envelope("a", first=first))
            await anext(inbox)


@scenario
async def test_one_that_is_open_is_not_entered_again(it: Wired) -> None:
    async with it.client.subscribe("k") as s:
        with pytest.raises(BadQuery, match=r"The subscription is open already\."):
            await s.__aenter__()
        it.deliver(1, envelope("a"))
        assert (await anext(s)).key == "a"


@scenario
async def test_a_retained_value_of_another_type_is_left_out_and_ends_nothing(it: Wired) -> None:
    said: list[str] = []
    heard = logging.Handler(logging.WARNING)
    heard.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("mesh.client").addHandler(heard)
    try:
        async with it.client.subscribe("k", type=dict[str, float]) as s:
            it.deliver(1, envelope("a", [b"old"], flags=INITIAL))
            it.deliver(1, envelope("a b c", [b"old", b'{"x": 1}', b"older"], first=2, flags=INITIAL))
            it.deliver(1, envelope("d", [b"new"], first=5))
            assert (await anext(s)).value == {"x": 1.0}
            with pytest.raises(BadContent):  # the next message is another matter
                _ = (await anext(s)).value
        assert used(s) == 3
    finally:
        logging.getLogger("mesh.client").removeHandler(heard)
    assert len(said) == 2 and "The content of a from" in said[0] and said[1].endswith("1 more were skipped.")


@scenario
async def test_a_key_with_wildcards_of_another_system_is_refused_with_the_pattern(it: Wired) -> None:
    for asked in ({"key": "a/*"}, {"pattern": "a/*"}, {"pattern": ["b", "a/*"]}):
        with pytest.raises(BadPattern, match=r"Write it as 'a/\+'"):
            it.client.subscribe(**asked)
