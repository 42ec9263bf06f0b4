"""Several keys or patterns as one subscription: in order of arrival, nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mesh
from mesh.client.batch import Batch
from mesh.client.core.intake import Terms
from mesh.client.core.several import RANGES, STREAMS, GivenBefore, Several, Strand
from mesh.client.message import Message
from mesh.errors import BadKey, BadPattern, BadQuery, MeshError, SlowConsumer
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, INITIAL
from tests.mesh.client.wired import Wired, scenario, turns
from tests.mesh.envelopes import envelope
from tests.mesh.meshes import LIMIT, in_memory, mesh_of, take

MASTER = b"m" * 16


def several(count: int = 2, overlap: bool = True, confirmed: bool = True) -> Several:
    def was_used(strand: Any) -> None: ...

    strands = [Strand(n, c.Query("pattern", "#"), True, Terms(), was_used) for n in range(1, count + 1)]
    made = Several(strands, overlap, lambda strand: None)
    for strand in strands[: count * confirmed]:
        strand.confirm()
    return made


def arrive(s: Several, strand: int, *numbers: int, flags: int = 0, gap: int = 0) -> None:
    for n in numbers:
        s.strands[strand].on_item(MASTER, envelope(first=n, flags=flags), None, gap)


def number(message: Message) -> int:
    return int(message.id.rpartition(":")[2])


def taken(s: Several, most: int = 1000) -> list[int]:
    found: list[int] = []
    while len(found) < most and (batch := s.next_batch()) is not None:
        found += map(number, batch)
        s.mark_consumed()
    return found


def used(s: Several) -> list[int]:
    return [strand.used for strand in s.strands]


# --- order and duplicates -------------------------------------------------------------------------------


def test_what_came_first_is_given_first_whichever_it_came_for() -> None:
    s = several()
    arrive(s, 1, 1)
    arrive(s, 0, 2, 3)
    arrive(s, 1, 4)
    assert taken(s) == [1, 2, 3, 4] and used(s) == [2, 2]


def test_what_comes_for_two_is_given_once_and_counts_for_both() -> None:
    s = several(3)
    for strand in range(3):
        arrive(s, strand, 1, 2)
    assert taken(s) == [1, 2] and used(s) == [2, 2, 2]


def test_of_an_envelope_that_was_given_partly_only_the_rest_is() -> None:
    s = several()
    whole = envelope("a b c d")
    s.strands[0].on_item(MASTER, whole, (1, 3), 0)
    s.strands[1].on_item(MASTER, whole, (0, 1, 2), 0)
    batches = [s.next_batch(), s.next_batch()]
    assert [[m.key for m in batch or ()] for batch in batches] == [["b", "d"], ["a", "c"]]


def test_a_last_value_that_comes_again_is_none_and_its_end_is_news() -> None:
    s = several()
    arrive(s, 0, 5)
    arrive(s, 1, 5, flags=INITIAL)
    for strand in s.strands:
        strand.on_item(MASTER, envelope(stream=b"e" * 16, flags=ERASED), None, 0)
    found = [batch.state for batch in iter(s.next_batch, None) if batch]
    assert found == ["OK", "ERASED"]


def test_what_was_dropped_before_a_batch_with_no_news_is_told_with_the_next() -> None:
    s = several()
    arrive(s, 0, 1)
    arrive(s, 1, 1, gap=3)
    arrive(s, 1, 2, gap=4)
    gaps = [batch.gap for batch in iter(s.next_batch, None) if batch]
    assert (gaps, s.dropped) == ([0, 7], 7)


def test_keys_that_differ_are_not_compared() -> None:
    s = several(overlap=False)
    arrive(s, 0, 1)
    arrive(s, 1, 1)
    assert taken(s) == [1, 1]


STEPS = st.lists(st.tuples(st.integers(0, 2), st.sets(st.integers(0, 5), min_size=1)), max_size=12)


@given(STEPS, st.integers(1, 3))
def test_whatever_the_patterns_nothing_is_lost_or_twice(steps: list[Any], readers: int) -> None:
    """Each step is an envelope, with the patterns that match its messages."""
    s = several(3)
    wanted: list[int] = []
    found: list[int] = []
    for at, (skipped, matched) in enumerate(steps):
        whole = envelope("a b c d e f", first=6 * at + 1)
        for strand in range(3):
            indices = tuple(sorted(i for i in matched if strand in (i % 3, skipped)))
            if indices:
                s.strands[strand].on_item(MASTER, whole, indices, 0)
                wanted += [6 * at + 1 + i for i in indices]
        if at % readers == 0:
            found += taken(s)
    found += taken(s)
    assert sorted(found) == sorted(set(wanted)) and found == list(dict.fromkeys(wanted))


def test_what_is_remembered_is_bounded_and_what_is_forgotten_comes_rather_twice_than_never() -> None:
    seen = GivenBefore()
    for n in range(1, 2 * RANGES + 20, 2):
        assert seen.news(Batch(envelope(first=n)))
    assert len(next(iter(seen._streams.values()))) == RANGES
    assert seen.news(Batch(envelope(first=1))), "forgotten"
    assert seen.news(Batch(envelope(first=2 * RANGES + 19))) is None
    for n in range(STREAMS + 10):
        seen.news(Batch(envelope(stream=struct.pack("<QQ", n, 1))))
    assert len(seen._streams) == STREAMS


# --- lifetime -------------------------------------------------------------------------------------------


def test_nothing_is_given_before_all_are_confirmed() -> None:
    s = several(confirmed=False)
    arrive(s, 0, 1)
    s.strands[0].confirm()
    assert s.next_batch() is None
    s.strands[1].restarted()
    s.strands[1].confirm()
    assert taken(s) == [1]


def test_of_a_node_that_was_restarted_before_it_confirmed_nothing_stays() -> None:
    s = several(confirmed=False)
    s.strands[0].confirm()
    arrive(s, 0, 1)
    arrive(s, 1, 2, 3)
    for strand in s.strands:
        strand.restarted()
    arrive(s, 1, 2)
    s.strands[1].confirm()
    assert taken(s) == [1, 2] and used(s) == [0, 1]


def test_what_is_put_back_is_given_again_first_and_though_it_was_given() -> None:
    s = several()
    for strand in (0, 1):
        s.strands[strand].on_item(MASTER, envelope("a b c"), None, 0)
    batch = s.next_batch()
    assert batch is not None and s.is_in_use
    s.put_back(list(batch)[1:], failed=False)
    assert taken(s) == [2, 3]
    arrive(s, 1, 7)
    assert s.next_batch() is not None
    s.put_back([], failed=True)
    assert not s.is_in_use and taken(s) == [7] and used(s) == [1, 2]


def test_a_batch_that_is_held_counts_later_and_for_its_own() -> None:
    s = several()
    arrive(s, 0, 1)
    arrive(s, 1, 2)
    assert s.next_batch()
    first = s.hold_batch()
    assert s.next_batch()
    second = s.hold_batch()
    assert not s.is_in_use and used(s) == [0, 0]
    second()
    assert used(s) == [0, 1]
    for strand in s.strands:
        strand.restarted()
    assert used(s) == [-1, 0], "the node will not count it, so it brings back to 0"
    first()
    assert used(s) == [0, 0]


# --- subscriptions of a client --------------------------------------------------------------------------


@scenario
async def test_several_keys_are_asked_for_each_once_and_left_together(it: Wired) -> None:
    async with it.client.subscribe("a/1", "a/2", "a/1", domain="d", initial=False) as s:
        asked = [said for said in it.wire.said if isinstance(said, c.Subscribe)]
        assert [(a.query, a.initial) for a in asked] == [
            (c.Query("exact", "a/1", "d"), False),
            (c.Query("exact", "a/2", "d"), False),
        ]
        it.deliver(2, envelope("a/2"))
        it.deliver(1, envelope("a/1", first=2))
        assert [(await anext(s)).key, (await anext(s)).key] == ["a/2", "a/1"]
    left = [said.subscription for said in it.wire.said if isinstance(said, c.Unsubscribe)]
    assert left == [1, 2] and [m async for m in s] == []


@scenario
async def test_patterns_are_typed_too_and_after_a_reconnect_all_are_asked_for_again(it: Wired) -> None:
    async with it.client.subscribe(pattern=["a/#", "#"], type=int) as s:
        it.deliver(1, envelope("a/1", [b"5"], persistent=True))
        it.deliver(2, envelope("a/1", [b"5"], persistent=True))
        assert (await anext(s)).value == 5
        await it.lose(boot=2)
        again = [said for said in it.wire.said if isinstance(said, c.Subscribe)][2:]
        assert [(a.request, a.query.text) for a in again] == [(0, "a/#"), (0, "#")]
        for n in (1, 2):
            it.deliver(n, envelope("a/1 a/2", [b"5", b"6"], persistent=True))
        assert (await anext(s)).value == 6
        nothing = asyncio.ensure_future(anext(s))
        await turns()
        assert not nothing.done()
        nothing.cancel()


@scenario
async def test_the_failure_of_one_ends_all_with_its_error_after_what_had_come(it: Wired) -> None:
    async with it.client.subscribe("a", "b", "d") as s:
        it.deliver(1, envelope("a"))
        it.hear(c.Ended(2, SlowConsumer.code, "too slow"))
        assert (await anext(s)).key == "a"
        for _ in range(2):
            with pytest.raises(SlowConsumer, match="too slow"):
                await anext(s)
        it.deliver(1, envelope("a", first=2))
        left = [said.subscription for said in it.wire.said if isinstance(said, c.Unsubscribe)]
        assert sorted(left) == [1, 2, 3] and not it.client._core.subscriptions._all


@scenario
async def test_if_one_is_refused_none_stays(it: Wired) -> None:
    it.wire.is_deaf = True
    s = it.client.subscribe("a", "b", "d")
    entering = asyncio.ensure_future(s.__aenter__())
    await turns()
    it.hear(c.Reply(1, {}))
    it.hear(c.Reply(2, None, "TOO_MANY", "no more"))
    with pytest.raises(MeshError, match="no more"):
        await entering
    left = [said.subscription for said in it.wire.said if isinstance(said, c.Unsubscribe)]
    assert left == [1, 2, 3] and not it.client._core.subscriptions._all


@scenario
async def test_the_end_of_the_client_is_the_end_of_all(it: Wired) -> None:
    async with it.client.subscribe("a", "b") as s:
        it.deliver(2, envelope("b"))
        await it.client.close(drain=False)
        assert [m.key async for m in s] == ["b"]


@scenario
async def test_what_is_left_of_a_batch_can_still_be_read(it: Wired) -> None:
    async with it.client.subscribe(pattern=["a/#", "#"]) as s:
        it.deliver(1, envelope("a/1 a/2 a/3"))
        await anext(s)
    assert [m.key async for m in s] == ["a/2", "a/3"]


WRONG: list[tuple[tuple[Any, ...], dict[str, Any], type[MeshError]]] = [
    (("a", None), {}, BadKey),
    ((None, "a"), {"domain": "d"}, BadKey),
    (("a", "b/#"), {}, BadKey),
    (("a", ""), {}, BadKey),
    (("a", "x\ud800"), {}, BadKey),
    (("a", 5), {}, BadKey),
    ((["a", "b"],), {}, BadKey),
    ((), {"pattern": []}, BadQuery),
    ((), {"pattern": ()}, BadQuery),
    ((), {"pattern": [None], "domain": "d"}, BadPattern),
    ((), {"pattern": ["a/#", ""]}, BadPattern),
    ((), {"pattern": ["a/#", 5]}, BadPattern),
    ((), {"pattern": ["a/#", "#/a"]}, BadPattern),
    ((), {"pattern": {"a/#": 1}}, BadPattern),
    ((), {"pattern": (x for x in "ab")}, BadPattern),
    (("a",), {"pattern": ["b/#"]}, BadQuery),
    (("a", "b"), {"pattern": "b/#"}, BadQuery),
    (("a", "b"), {"overflow": "never"}, BadQuery),
]


@scenario
async def test_what_makes_no_sense_is_refused_before_anything_is_asked(it: Wired) -> None:
    for keys, options, error in WRONG:
        with pytest.raises(error):
            it.client.subscribe(*keys, **options)
    assert not [said for said in it.wire.said if isinstance(said, c.Subscribe)]


def test_a_node_gives_each_message_once_in_its_publishers_order() -> None:
    async def main() -> None:
        async with in_memory("a") as made, made.connect("a") as m:
            for n in range(3):
                await m.publish(f"a/{n}", b"old")
            async with m.subscribe(pattern=["a/#", "+/1", "#"]) as s:
                assert sorted(x.key for x in await take(s, 3)) == ["a/0", "a/1", "a/2"]
                for n in range(40):
                    m.post(f"a/{n % 4}", str(n))
                await m.publish("b", b"end")
                assert [x.text for x in await take(s, 41)] == [*map(str, range(40)), "end"]
                assert s.dropped == 0
                await m.erase("a/1")
                [gone] = await take(s, 1)
                assert (gone.key, gone.state) == ("a/1", "ERASED")

    asyncio.run(main())


def test_it_is_the_same_without_a_loop() -> None:
    async def main() -> None:
        async with mesh_of("a") as made:

            def blocking() -> list[str]:
                with (
                    mesh.sync.connect("a", environ=made.environ) as m,
                    m.subscribe("k/1", "k/2", type=int) as s,
                ):
                    for n in (1, 2):
                        m.publish(f"k/{n}", n)
                    return [f"{x.key}={x.value}" for x in (next(s), next(s))]

            assert await asyncio.wait_for(asyncio.to_thread(blocking), LIMIT) == ["k/1=1", "k/2=2"]

    asyncio.run(main())
