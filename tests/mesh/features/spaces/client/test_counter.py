"""Counters, as clients at several nodes use them."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import LocalError
from tests.mesh.features.spaces.players import Players, play


def test_additions_of_many_clients_at_all_nodes_are_exact() -> None:
    async def scenario(it: Players) -> None:
        clients = [it.m.connect(name, client=f"c{i}") for i, name in enumerate(it.m.nodes * 2)]
        for client in clients:
            await client.__aenter__()
        counters = [client.counter("n") for client in clients]
        found = await it.outcome(asyncio.gather(*(c.add(1) for _ in range(30) for c in counters)))
        assert sorted(found) == list(range(1, 181)), "each addition has a value of its own"
        assert await it.outcome(counters[0].value()) == 180
        assert await it.outcome(counters[1].add(-200)) == -20
        for client in clients:
            await it.outcome(client.close())

    play(scenario)


def test_a_counter_stays_within_64_bits() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            counter = joe.counter("n")
            assert await it.outcome(counter.add(2**63 - 1)) == 2**63 - 1
            with pytest.raises(LocalError, match="leave the range of 64 bits") as refused:
                await it.outcome(counter.add(1))
            assert refused.value.code == "OVERFLOW"
            assert await it.outcome(counter.value()) == 2**63 - 1

    play(scenario, ("heron",))


def test_a_counter_is_set_only_if_it_has_the_expected_value() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            assert await it.outcome(joe.counter("n").put_if(5, expected=0))
            assert not await it.outcome(ann.counter("n").put_if(6, expected=0))
            assert await it.outcome(ann.counter("n").put_if(-6, expected=5))
            assert await it.outcome(joe.counter("n").value()) == -6
            assert await it.outcome(joe.counter("n", group="other").value()) == 0

    play(scenario)


def test_a_counter_and_its_group_are_removed_and_begin_at_0_again() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            a, b = joe.counter("a", group="g"), ann.counter("b", group="g")
            assert not await it.outcome(a.remove()), "it does not exist yet"
            await it.outcome(a.add(5))
            await it.outcome(b.add(7))
            assert await it.outcome(ann.counter("a", group="g").remove())
            assert await it.outcome(a.items()) == {"b": 7}
            assert await it.outcome(a.add(1)) == 1
            await it.outcome(b.drop_group())
            with pytest.raises(LocalError) as missing:
                await it.outcome(a.drop_group())
            assert missing.value.code == "NO_SPACE" and "map ls" not in str(missing.value)
            assert await it.outcome(a.items()) == {}
            assert await it.outcome(b.add(1)) == 1

    play(scenario)
