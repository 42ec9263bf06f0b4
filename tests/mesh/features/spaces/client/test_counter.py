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
