"""Elections: a lock with a value, which all clients see."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from mesh.errors import BadContent, MessageTooLarge
from tests.mesh.features.spaces.players import Players, play


def test_the_leader_and_each_change_are_seen_at_every_node() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann, it.m.connect("ibis") as bob:
            assert await it.outcome(bob.leader("leader")) is None
            watch = bob.watch_leader("leader", type=str)
            term = await it.outcome(joe.elect("leader", "heron:80", lease=6).__aenter__())
            change = await it.outcome(anext(watch))
            assert (change.kind, change.value, change.version) == ("put", "heron:80", term.token)
            leader = await it.outcome(bob.leader("leader", type=str))
            assert leader is not None and (leader.value, leader.token) == ("heron:80", term.token)
            assert "joe" not in leader.client and "heron" in leader.client
            second = asyncio.ensure_future(ann.elect("leader", {"at": 1}, lease=6).__aenter__())
            await it.m.pass_time(10)
            assert not second.done()
            await it.outcome(term.__aexit__(None, None, None))
            after = await it.outcome(second)
            with pytest.raises(BadContent):
                await it.outcome(anext(watch))
            leader = await it.outcome(bob.leader("leader"))
            assert leader is not None and leader.token == after.token
            assert cast("object", leader.value) == {"at": 1}
            await it.outcome(after.__aexit__(None, None, None))
            assert (await it.outcome(anext(watch))).kind == "removed"
            assert await it.outcome(bob.leader("leader")) is None
            await watch.aclose()

    play(scenario)


def test_a_leader_that_is_cut_off_is_replaced() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as ann, it.m.connect("ibis") as joe:
            await it.outcome(ann.leader("leader"))
            term = await it.outcome(joe.elect("leader", b"ibis", lease=5).__aenter__())
            second = asyncio.ensure_future(ann.elect("leader", b"heron", lease=5).__aenter__())
            await it.m.pass_time(1)
            for other in ("heron", "stork"):
                it.m.cut("ibis", other)
            after = await it.outcome(second)
            assert term.lost and after.token > term.token
            leader = await it.outcome(ann.leader("leader"))
            assert leader is not None and leader.value == b"heron"
            await it.outcome(after.__aexit__(None, None, None))
            it.m.heal()
            await it.m.joined()
            await it.outcome(term.__aexit__(None, None, None))

    play(scenario)


def test_a_value_is_limited() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(MessageTooLarge, match="16,385 bytes; the limit is 16,384"):
                joe.elect("leader", b"x" * (16 * 1024 + 1))
            term = joe.elect("leader", b"x" * (16 * 1024))
            await it.outcome(term.__aenter__())
            await it.outcome(term.__aexit__(None, None, None))

    play(scenario, ("heron",))
