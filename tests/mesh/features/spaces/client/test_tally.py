"""Tallies, as clients at several nodes use them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.errors import BadArgument, BadKey, BadName, LocalError, StoreFull
from tests.mesh.features.spaces.full_disks import FullDisk
from tests.mesh.features.spaces.players import NODES, Players, play


async def value(it: Players, client: Any, name: str = "clicks") -> tuple[int, list[str]]:
    found = await it.outcome(client.tally(name).value())
    return found.value, found.missing


def known(it: Players, node: str) -> list[int]:
    """Return the totals of the shared rows that a node has."""
    copies = it.parts(node).tallies._copies.get("clicks", {})
    return sorted(row.total for row in copies.values())


def test_additions_at_all_nodes_are_summed_at_once() -> None:
    async def scenario(it: Players) -> None:
        clients = [it.m.connect(name) for name in NODES]
        for client in clients:
            await client.__aenter__()
        await it.outcome(asyncio.gather(*(c.tally("clicks").add(n) for c in clients for n in (1, 10, -3))))
        for client in clients:
            assert await value(it, client) == (24, [])
        assert await value(it, clients[0], "other") == (0, [])
        for client in clients:
            await it.outcome(client.close())

    play(scenario)


def test_a_node_that_is_cut_off_goes_on_adding_and_all_is_exact_after_the_cut() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as far:
            for client in (joe, far):
                await it.outcome(client.tally("clicks").add(1))
            await it.until(lambda: known(it, "heron") == known(it, "ibis") == [1, 1])
            for other in ("heron", "stork"):
                it.m.cut("ibis", other)
            await it.m.pass_time(20)
            for _ in range(5):
                await it.outcome(joe.tally("clicks").add(1))
                await it.outcome(far.tally("clicks").add(100))
            assert await value(it, joe) == (7, ["ibis"])
            assert await value(it, far) == (502, ["heron", "stork"])
            it.m.heal()
            await it.m.joined()
            for client in (joe, far):
                assert await value(it, client) == (507, [])

    play(scenario)


def test_rows_of_a_node_that_is_down_still_count_and_additions_outlive_a_kill() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(ann.tally("clicks").add(5))
            await it.outcome(joe.tally("clicks").add(2))
            await it.until(lambda: known(it, "heron") == [2, 5])
            it.m.kill("stork")
            await it.m.pass_time(20)
            assert await value(it, joe) == (7, ["stork"])
            for name in ("heron", "ibis"):
                it.m.kill(name)
            for name in NODES:
                it.m.start(name)
            await it.m.joined()
            assert await value(it, ann) == (7, [])
            await it.outcome(ann.tally("clicks").add(1))
            assert await value(it, joe) == (8, [])

    play(scenario)


def test_a_client_that_loses_its_node_repeats_the_addition_there_and_it_counts_once() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron", "stork", client="joe") as joe, it.m.connect("ibis") as other:
            for n in range(1, 6):
                adding = asyncio.ensure_future(joe.tally("clicks").add(1, timeout=60))
                home = str(joe._core.line.home)
                await it.m.pass_time(0.05 * n)
                it.m.kill(home)
                await it.m.pass_time(4)
                it.m.start(home)
                await it.m.joined()
                await it.outcome(adding)
                assert (await value(it, other))[0] == n

    play(scenario)


def test_a_store_that_was_rolled_back_begins_a_new_row() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.tally("clicks").add(3))
            await it.m.pass_time(5)
            tallies = it.parts("heron").tallies
            tallies._store, tallies._own = b"", {}  # as after --accept-rollback
            assert await value(it, joe) == (3, [])
            await it.outcome(joe.tally("clicks").add(4))
            assert await value(it, joe) == (7, [])
            await it.until(lambda: known(it, "ibis") == [3, 4])

    play(scenario)


def test_the_limits_of_tallies_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.node.tallies.TALLIES", 1)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.tally("a").add(2**63 - 1))
            with pytest.raises(LocalError, match="leave the range of 64 bits") as much:
                await it.outcome(joe.tally("a").add(1))
            assert much.value.code == "OVERFLOW"
            with pytest.raises(LocalError, match="which is the limit") as many:
                await it.outcome(joe.tally("b").add(1))
            assert many.value.code == "TOO_MANY_SPACES"

    play(scenario, ("heron",))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.tally("clicks").add(1.5), BadArgument),
        (lambda m: m.tally("clicks").add(2**63), BadArgument),
        (lambda m: m.tally("").add(), BadKey),
        (lambda m: m.tally("x" * 181).add(), BadName),
    ],
)
def test_a_bad_argument_is_refused(call: Any, error: type[Exception]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(error):
                await it.outcome(call(joe))

    play(scenario, ("heron",))


def test_additions_after_a_first_one_that_was_not_stored_outlive_a_kill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = FullDisk(monkeypatch, b"tally/", is_full=True)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(LocalError) as full:
                await it.outcome(joe.tally("clicks").add(1))
            assert full.value.code == StoreFull.code
            disk.is_full = False
            await it.outcome(joe.tally("clicks").add(2))
            it.m.kill("heron")
            it.m.start("heron")
            await it.m.joined()
            assert await value(it, joe) == (2, [])

    play(scenario)
