"""New spaces: one home, even if all nodes create them at once or one is killed meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import LocalError
from mesh.wire.calls import AskSpaceClaim
from tests.mesh.features.spaces.players import NODES, Players, play


@pytest.mark.parametrize("seed", range(3))
def test_a_map_that_all_nodes_create_at_once_has_one_home(seed: int) -> None:
    async def scenario(it: Players) -> None:
        clients = [it.m.connect(name) for name in NODES]
        for client in clients:
            await client.__aenter__()
        for n in range(4):
            await it.m.pass_time(0.1 * seed)
            puts = [client.map(f"m{n}").put(f"k{i}", i) for i, client in enumerate(clients)]
            await it.outcome(asyncio.gather(*puts))
            homes = {it.parts(name).spaces.find(f"map/m{n}").home for name in NODES}  # type: ignore[union-attr]
            assert len(homes) == 1
            for client in clients:
                found = await it.outcome(client.map(f"m{n}").items())
                assert [(e.key, e.value) for e in found] == [("k0", 0), ("k1", 1), ("k2", 2)]
        for client in clients:
            await it.outcome(client.close())

    play(scenario)


def test_a_home_that_is_killed_before_others_know_it_stays_the_only_one() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork") as ann, it.m.connect("heron") as joe:
            creating = asyncio.ensure_future(joe.map("m").put("k", "of joe", timeout=30))
            await it.m.pass_time(0.01)
            it.m.kill("heron")
            try:
                await it.outcome(ann.map("m").put("k", "of ann", timeout=15))
            except LocalError as error:
                assert error.code in ("NODE_AWAY", "NODES_AWAY")
            it.m.start("heron")
            await it.m.joined()
            await it.outcome(creating)
            values = [await it.outcome(each.map("m").get("k")) for each in (joe, ann)]
            assert values[0] == values[1] is not None
            homes = {it.parts(name).spaces.find("map/m").home for name in NODES}  # type: ignore[union-attr]
            assert len(homes) == 1

    play(scenario)


def test_everything_is_there_after_all_nodes_were_killed() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork") as ann:
            await it.outcome(ann.map("m").put("k", 1))
            await it.outcome(ann.counter("n").add(5))
            for name in NODES:
                it.m.kill(name)
            await it.m.pass_time(1)
            for name in NODES:
                it.m.start(name)
            await it.m.joined()
            entry = await it.outcome(ann.map("m").get("k"))
            assert entry is not None and entry.value == 1
            assert await it.outcome(ann.counter("n").add(1)) == 6
            assert await it.outcome(ann.map("m").put("k", 2)) > entry.version

    play(scenario)


def test_the_thousandth_space_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.node.spaces.HOMES", 2)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            for n in range(2):
                await it.outcome(joe.map(f"m{n}").put("k", 1))
            with pytest.raises(LocalError, match="the limit is 2") as many:
                await it.outcome(joe.map("more").put("k", 1))
            assert many.value.code == "TOO_MANY_SPACES"
            await it.outcome(joe.map("m0").put("k", 2))

    play(scenario, ("heron",))


def test_a_node_makes_no_more_promises_than_there_may_be_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.node.voting.TAKEN", 2)

    async def scenario(it: Players) -> None:
        voting = it.parts("heron").voting
        votes: list[bool] = []
        for n, name in enumerate(("map/a", "map/b", "map/c", "map/a"), 1):
            ask = AskSpaceClaim(space=name, generation=1, ballot=n)
            voting.vote(ask, b"", lambda vote: votes.append(vote.granted))
            await it.until(lambda n=n: len(votes) == n)  # type: ignore[misc]
        assert votes == [True, True, False, True]

    play(scenario, ("heron",))
