"""The virtual clock of a mesh in memory: time passes at once, in order, for nodes and clients alike."""

from __future__ import annotations

import asyncio
import warnings

import pytest

from mesh.client.client import Client
from mesh.errors import MeshTimeout
from mesh.testing import Mesh
from tests.mesh.testing.scenarios import scenario
from tests.seeds import scenarios
from tests.waiting import LIMIT, eventually


@scenario(1, clock="virtual")
async def test_minutes_pass_at_once(m: Mesh) -> None:
    async with m.connect() as a:
        before = m.time
        await a.publish("k", b"x", expiry=300)
        await a.publish("other", b"x", expiry=1200)
        await m.pass_time(600)
        assert m.time - before == 600
        assert await a.get("k") == [] and len(await a.get("other")) == 1


@scenario(1)
async def test_an_expiry_counts_from_the_time_that_it_is_in_the_mesh(m: Mesh) -> None:
    async with m.connect() as a:
        await m.pass_time(300)
        await a.publish("one", b"x", expiry=60)
        for key in ("one", "two"):
            if key == "two":
                await a.publish_many("two", [b"x"], expiry=60)
            assert len(await a.get(key)) == 1
            await m.pass_time(61)
            assert await a.get(key) == []


@scenario(1, clock="virtual")
async def test_a_virtual_clock_stands_until_time_is_passed(m: Mesh) -> None:
    begun = m.time
    async with m.connect() as a, a.subscribe("k") as s:
        assert await a.publish_many("k", [b"%d" % n for n in range(5_000)]) == 5_000
        count = 0
        async for batch in s.batches():
            count += len(batch)
            if count == 5_000:
                break
        await asyncio.sleep(0.001)
        assert m.time == begun
        await m.pass_time(0.25)
        assert m.time == begun + 0.25
        receipts = [a.post("k", b"x") for _ in range(10)]
        assert all([(await receipt).ok for receipt in receipts])


@scenario(3, clock="virtual")
async def test_where_time_stands_still_every_node_lets_clients_in(m: Mesh) -> None:
    before = m.time
    async with m.connect("c") as c, m.connect("b", timeout=3), m.connect("a") as a, c.subscribe("k") as s:
        await a.publish("k", b"x", persistent=True)
        assert (await anext(s)).content == b"x"
        assert m.time == before < 0.1
        for name in m.nodes:
            m.kill(name)
            m.start(name)
            await m.joined()
            async with m.connect(name):
                pass


@scenario(2, clock="virtual")
async def test_what_is_due_happens_in_order_whoever_waits_for_it(m: Mesh) -> None:
    happened: list[str] = []

    async def waits(name: str, key: str, at: float) -> None:
        async with m.connect(name) as c:
            while await c.get(key):
                await asyncio.sleep(0.001)
            happened.append(key)
            assert m.time >= at

    async with m.connect("a") as a:
        tasks = []
        for key, expiry in (("late", 60.0), ("early", 20.0)):
            await a.publish(key, b"x", expiry=expiry)
            tasks.append(asyncio.create_task(waits("b", key, expiry)))
        await m.pass_time(40)
        await eventually(lambda: happened)
        assert happened == ["early"]
        await m.pass_time(40)
        await asyncio.gather(*tasks)
    assert happened == ["early", "late"]


@scenario(2, rules={"b": ["NEWS"]}, clock="virtual")
async def test_a_task_goes_on_as_soon_as_it_can_while_time_passes(m: Mesh) -> None:
    async def warned(a: Client) -> float:
        assert (await a.publish("k", b"x", domain="NEWS")).state == "FORWARD_WARNING"
        return m.time

    async with m.connect("a") as a:
        m.cut("a", "b")
        begun, task = m.time, asyncio.create_task(warned(a))
        await m.pass_time(30)
        assert 0.99 <= await task - begun < 3


@scenario(1)
async def test_time_passes_though_a_task_never_comes_to_an_end(m: Mesh) -> None:
    async def for_ever(a: Client) -> None:
        while True:
            await a.publish("k", b"x")

    async with m.connect() as a:
        task = asyncio.create_task(for_ever(a))
        await m.pass_time(10)
        task.cancel()
    assert len(m.published) > 50


@scenario(1, clock="virtual")
async def test_timers_that_are_cancelled_are_forgotten(m: Mesh) -> None:
    async with m.connect() as a:
        for _ in range(700):
            await a.publish("k", b"x", timeout=3600)
    assert len(m._passing.clock._timers) < 400


@scenario(2)
async def test_connections_that_are_lost_are_forgotten(m: Mesh) -> None:
    for _ in range(25):
        async with m.connect("a"):
            m.kill("b")
            m.start("b")
            await m.pass_time(1)
    node = m._nodes["a"]
    assert len(m._passing.net.pipes) < 20 and len(node._pipes) == len(node._keys) < 20


@scenario(1)
async def test_two_who_pass_time_at_once_pass_it_one_after_the_other(m: Mesh) -> None:
    before = m.time
    await asyncio.gather(m.pass_time(10), m.pass_time(20))
    assert m.time - before >= 30


@scenario(2)
async def test_who_is_cancelled_while_time_passes_leaves_a_clock_that_goes(m: Mesh) -> None:
    for turns in range(12):
        task = asyncio.create_task(m.pass_time(86_400))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with m.connect("a") as a:
        now = m.time
        await asyncio.sleep(0.01)
        assert m.time > now
        await m.pass_time(10)
        assert (await a.publish("k", b"x")).ok


@scenario(1)
async def test_after_time_has_passed_the_clock_goes_on_and_rings(m: Mesh) -> None:
    rung = asyncio.Event()
    async with m.connect():
        m._passing.clock.call_at(m.time + 100, rung.set)
        before = m.time
        await m.pass_time(50)
        assert not rung.is_set()
        await m.pass_time(49.9)
        await asyncio.wait_for(rung.wait(), LIMIT)
        assert before + 99 < m.time


@scenario(2)
async def test_a_loop_that_stood_still_makes_no_node_look_dead(m: Mesh) -> None:
    async with m.connect("a") as a:
        clock, events, before = m._passing.clock, a.events(), m.time
        clock._ahead += 100
        assert before <= m.time < before + 90  # until the timer has fired
        clock._ring()
        assert before + 100 <= m.time < before + 190
        await m.pass_time(5)
        assert m._nodes["a"].alive() == {"b"}
        assert not {"suspect", "dead"} & {event["kind"] for event in (await a.call("events"))["events"]}
        assert (await a.publish("k", b"x")).ok
    assert [event.kind async for event in events] == []


@scenario(2, rules={"b": ["NEWS"]}, clock="virtual")
async def test_the_limit_of_a_call_is_in_the_time_of_the_mesh(m: Mesh) -> None:
    async with m.connect("a", patience=5) as a:
        m._nodes["a"].hear = lambda pipe, frames: None  # type: ignore[method-assign]
        for limit, until in ((0.5, 0.5), (None, 5)):
            task = asyncio.create_task(a.get("k", timeout=limit))
            await m.pass_time(until - 0.1)
            assert not task.done()
            await m.pass_time(0.2)
            with pytest.raises(MeshTimeout):
                await task
        await a.close(drain=False)


@scenario(1)
async def test_a_question_is_given_up_after_its_time_in_the_mesh(m: Mesh) -> None:
    async with m.connect(timeout=3) as a:
        node = m._nodes["a"]
        node.hear = lambda pipe, frames: None  # type: ignore[method-assign]  # it is deaf, and nobody knows
        task = asyncio.create_task(a.get("k"))
        await m.pass_time(20)
        with pytest.raises(MeshTimeout):
            await task
        m.kill("a")
        await a.close(drain=False)


async def _long_scenario(m: Mesh) -> None:
    async with m.connect("a") as a, m.connect("b", timeout=3) as b, b.subscribe("k") as s:
        for fault in ("", "cut", "kill"):
            if fault == "cut":
                m.cut("a", "b")
            elif fault == "kill":
                m.kill("b")
            await m.pass_time(3)
            m.heal()
            m.start("b")
            await m.joined()
            await m.pass_time(5)
            await a.publish("k", b"x", timeout=5)
            assert (await anext(s)).content == b"x"


@pytest.mark.parametrize("step", scenarios([211, 13]))
@pytest.mark.parametrize("clock", ["real", "virtual"])
def test_a_scenario_that_is_cancelled_anywhere_leaves_a_mesh_that_goes_on(clock: str, step: int) -> None:
    async def told(turns: int) -> bool:
        async with Mesh(2, clock=clock) as m:
            task = asyncio.create_task(_long_scenario(m))
            for _ in range(turns):
                await asyncio.sleep(0)
            was_done = task.done()
            task.cancel()
            await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), LIMIT)
            await m.pass_time(1)
            async with m.connect("a") as a:
                assert (await a.publish("k", b"y")).ok
            return was_done

    turns = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while not asyncio.run(told(turns)):
            turns += step
    assert turns > 100
