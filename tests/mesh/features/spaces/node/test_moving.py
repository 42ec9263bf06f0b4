"""Moves of a space to another home, other limits, and the end of a space."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.errors import LocalError
from mesh.flow.leash import SILENCE
from mesh.wire.calls import AskSpaceClaim, arguments
from tests.mesh.features.spaces.node.test_space_calls import signed
from tests.mesh.features.spaces.players import NODES, Players, play


def home_of(it: Players, at: str, space: str) -> str:
    known = it.parts(at).spaces.find(space)
    return known.node if known is not None else ""


def test_a_moved_map_has_all_values_and_higher_versions() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as ann:
            found = joe.map("m")
            for n in range(60):
                await it.outcome(found.put(f"k{n:03}", "x" * 4000, ttl=3600 if n % 2 else None))
            before = await it.outcome(found.items())
            await it.outcome(ann.map("m").move("stork"))
            assert {home_of(it, each, "map/m") for each in NODES} == {"stork"}
            assert await it.outcome(ann.map("m").items()) == before
            assert await it.outcome(found.put("k000", 1)) > max(entry.version for entry in before)
            assert await it.outcome(found.put_if("k001", 1, version=before[1].version)) is not None
            assert it.parts("stork").homes.state("map/m").head.keys == 60
            for name in NODES:
                it.m.kill(name)
                it.m.start(name)
            await it.m.joined()
            assert len(await it.outcome(found.items())) == 60

    play(scenario)


@pytest.mark.parametrize("seed", range(3))
def test_k1_additions_during_moves_and_kills_count_once(seed: int) -> None:
    async def scenario(it: Players) -> None:
        clients = [it.m.connect(*NODES[n:], *NODES[:n]) for n in range(3)]
        for client in clients:
            await client.__aenter__()
        await it.outcome(clients[0].counter("n").add(0))
        given: list[int] = []
        is_over = False

        async def add(client: Any) -> None:
            while not is_over:
                given.append(await client.counter("n").add(1))
                await client.counter("n")._pause()

        adding = [asyncio.ensure_future(add(client)) for client in clients]
        mover = clients[0].counter("n")
        for n in range(3):
            await it.m.pass_time(0.6 + 0.1 * seed)
            to = NODES[(n + 1) % 3]
            moving = asyncio.ensure_future(mover.move(to))
            if n == seed:
                await it.m.pass_time(0.02 * seed)
                it.m.kill(NODES[n % 3])
                await it.m.pass_time(3)
                it.m.start(NODES[n % 3])
                await it.m.joined()
            try:
                await it.outcome(moving)
            except LocalError as error:
                assert error.code in ("NODE_AWAY", "NODES_AWAY", "NOT_HOME", "NO_LEASH")
        await it.m.pass_time(5)
        is_over = True
        await it.outcome(asyncio.gather(*adding))
        assert sorted(given) == list(range(1, len(given) + 1))
        for client in clients:
            await it.outcome(client.close())

    play(scenario)


def test_a_write_that_is_repeated_after_a_move_has_its_first_outcome() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as ann:
            said = arguments(signed(joe, space="counter/c", op="add", content=b"", amount=5))
            first = await it.outcome(joe.call("space_write", **said))
            await it.outcome(joe.counter("k", group="c").move("stork"))
            assert await it.outcome(ann.call("space_write", **said)) == first
            assert await it.outcome(ann.counter("k", group="c").value()) == 5

    play(scenario)


def test_a_home_that_dies_after_the_vote_finishes_the_move_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("ibis") as ann, it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            won: list[Any] = []
            monkeypatch.setattr(it.parts("heron").spaces, "write_definition", lambda *a: won.append(a))
            moving = asyncio.ensure_future(ann.map("m").move("stork", timeout=2))
            await it.until(lambda: won)
            it.m.kill("heron")
            with pytest.raises(Exception, match=r"NODE_AWAY|TIMEOUT"):
                await it.outcome(moving)
            it.m.start("heron")
            await it.m.joined()
            await it.until(lambda: home_of(it, "ibis", "map/m") == "stork")
            entry = await it.outcome(ann.map("m").get("k"))
            assert entry is not None and entry.value == 1

    play(scenario)


def test_a_claim_that_led_to_nothing_leaves_the_home_in_place() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            voting = it.parts("heron").voting
            ask = AskSpaceClaim(space="map/m", generation=2, ballot=7)
            voting.vote(ask, it.uuid("heron"), lambda vote: None)
            assert it.parts("heron").leashes.left("map/m", it.parts("heron").spaces.find("map/m")) < 0  # type: ignore[arg-type]
            await it.outcome(joe.map("m").put("k", 2))
            known = it.parts("heron").spaces.find("map/m")
            assert known is not None and (known.node, known.generation) == ("heron", 2)
            entry = await it.outcome(joe.map("m").get("k"))
            assert entry is not None and entry.value == 2

    play(scenario)


def test_limits_and_voters_can_be_changed_and_a_lower_limit_only_stops_growth() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            found = joe.map("m")
            await it.outcome(found.declare(max_keys=2))
            version = await it.outcome(found.put("a", 1))
            await it.outcome(ann.map("m").declare(max_keys=3, voters=["ibis"]))
            known = it.parts("ibis").spaces.find("map/m")
            assert known is not None and known.voters == (it.uuid("heron"), it.uuid("ibis"))
            entry = await it.outcome(found.get("a"))
            assert entry is not None and entry.version == version
            await it.outcome(found.put("b", 1))
            await it.outcome(found.put("c", 1))
            await it.outcome(ann.map("m").declare(max_keys=1))
            assert await it.outcome(found.put("a", 2)) > version
            with pytest.raises(LocalError, match="full"):
                await it.outcome(found.put("d", 1))
            with pytest.raises(LocalError, match="No node with the name nobody"):
                await it.outcome(found.declare(voters=["nobody"]))

    play(scenario)


def test_a_removed_map_is_gone_everywhere_and_a_new_one_has_higher_versions() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            found = joe.map("m")
            version = await it.outcome(found.put("k", 1))
            await it.outcome(found.put("l", 1))
            watch = ann.map("m").watch()
            assert [(await it.outcome(anext(watch))).key for _ in range(2)] == ["k", "l"]
            await it.outcome(ann.map("m").drop())
            changes = [await it.outcome(anext(watch)) for _ in range(2)]
            assert [(change.kind, change.key) for change in changes] == [("removed", "k"), ("removed", "l")]
            assert it.parts("ibis").spaces.figures() == {"spaces": 0}
            with pytest.raises(LocalError) as missing:
                await it.outcome(found.drop())
            assert missing.value.code == "NO_SPACE"
            it.m.kill("heron")
            it.m.start("heron")
            await it.m.joined()
            assert await it.outcome(ann.map("m").items()) == []
            assert await it.outcome(found.put("k", 2)) > max(version, changes[1].version)
            changes = [await it.outcome(anext(watch)) for _ in range(2)]
            assert [(change.kind, change.value) for change in changes] == [("gap", None), ("put", 2)]
            assert home_of(it, "heron", "map/m") == "stork"

    play(scenario)


def test_a_map_does_not_move_to_an_unreachable_node_and_goes_on() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("k", 1))
            it.m.kill("stork")
            await it.m.pass_time(SILENCE)
            with pytest.raises(LocalError, match="stork cannot become the home") as away:
                await it.outcome(joe.map("m").move("stork"))
            assert away.value.code == "NODE_AWAY"
            await it.outcome(joe.map("m").put("k", 2))

    play(scenario)


def test_limits_that_are_declared_at_the_same_time_all_come_into_effect() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann, it.m.connect("ibis") as bob:
            await it.outcome(joe.map("m").put("a", 1))
            declaring = [
                asyncio.ensure_future(joe.map("m").declare(max_keys=5)),
                asyncio.ensure_future(ann.map("m").declare(max_bytes=1_000_000)),
                asyncio.ensure_future(bob.map("m").declare(max_keys=5, max_bytes=1_000_000)),
            ]
            for each in declaring:
                await it.outcome(each)
            known = it.parts("heron").spaces.find("map/m")
            assert known is not None and (known.max_keys, known.max_bytes) == (5, 1_000_000)

    play(scenario)
