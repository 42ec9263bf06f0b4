"""Forced moves: the home is lost, and another node begins with copies."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.errors import BadArgument, LocalError
from mesh.features.spaces.client.space import MoveReport
from mesh.features.spaces.node.lock_rows import MAX_LEASE
from mesh.flow.leash import SILENCE
from tests.mesh.features.spaces.players import NODES, Players, play


async def forced(it: Players, client: Any, to: str, **said: Any) -> MoveReport:
    report: MoveReport = await it.outcome(client.map("m").move(to, force=True, **said))
    return report


SPACE = "lock/elections"


def test_a_lost_map_begins_with_copies_whose_versions_are_new() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("ibis") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").declare(home="heron"))
            old = await it.outcome(ann.map("m").put("a", 1))
            await it.outcome(joe.map("m").put("b", 2))
            await it.outcome(joe.map("m").put("a", 3))
            watch = ann.map("m").watch()
            for _ in range(2):
                await it.outcome(anext(watch))
            async with it.m.connect("heron") as far:
                await it.outcome(far.map("m").put("lost", 4))
            assert (await it.outcome(anext(watch))).key == "lost"
            it.m.kill("heron")
            await it.m.pass_time(SILENCE + 1)
            told = await forced(it, joe, "stork")
            assert (told.copies, told.moved) == (2, False) and told.oldest >= told.newest > SILENCE
            assert (await forced(it, joe, "stork", accept_loss=True)).moved
            assert it.parts("ibis").spaces.find("map/m").node == "stork"  # type: ignore[union-attr]
            found = await it.outcome(joe.map("m").items())
            assert [(e.key, e.value, e.stale) for e in found] == [("a", 3, False), ("b", 2, False)]
            assert min(e.version for e in found) > old
            assert await it.outcome(joe.map("m").put_if("a", 5, version=old)) is None
            assert await it.outcome(joe.map("m").put_if("a", 5, version=found[0].version)) is not None
            kinds = [await it.outcome(anext(watch)) for _ in range(4)]
            assert [(e.kind, e.key) for e in kinds] == [
                ("gap", ""), ("put", "a"), ("put", "b"), ("removed", "lost"),
            ]  # fmt: skip
            it.m.start("heron")
            await it.m.joined()
            async with it.m.connect("heron") as far:
                assert [e.value for e in await it.outcome(far.map("m").items())] == [5, 2]
            for name in NODES:
                it.m.kill(name)
                it.m.start(name)
            await it.m.joined()
            again = await it.outcome(joe.map("m").items())
            assert [e.value for e in again] == [5, 2] and again[1].version == found[1].version

    play(scenario)


def test_a_map_whose_home_lives_is_not_moved_by_force() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").put("a", 1))
            with pytest.raises(LocalError) as alive:
                await forced(it, ann, "stork", accept_loss=True)
            assert alive.value.code == "HOME_ALIVE" and "heron" in str(alive.value)
            with pytest.raises(LocalError) as same:
                await forced(it, joe, "heron", accept_loss=True)
            assert same.value.code == "SPACE_EXISTS"
            for name in ("ibis", "stork", "nobody"):
                with pytest.raises(LocalError) as wrong:
                    await forced(it, ann, "stork", stopped=name)
                assert wrong.value.code == "NOT_STOPPED"
            await it.outcome(joe.map("m").put("a", 2))

    play(scenario)


def test_a_map_without_voters_is_moved_only_if_its_home_is_stated_to_be_stopped() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").put("a", 1))
            await it.outcome(ann.map("m").get("a"))
            with pytest.raises(BadArgument):
                await ann.map("m").move("stork", accept_loss=True)
            with pytest.raises(LocalError) as unsaid:
                await forced(it, ann, "stork", accept_loss=True)
            assert unsaid.value.code == "NOT_STOPPED" and "--stopped heron" in unsaid.value.hint + str(
                unsaid.value
            )
            with pytest.raises(LocalError) as alive:
                await forced(it, ann, "stork", stopped="heron", accept_loss=True)
            assert alive.value.code == "HOME_ALIVE"
            it.m.kill("heron")
            await it.m.pass_time(12)
            told = await forced(it, ann, "stork", stopped="heron", accept_loss=True)
            assert told.copies == 1 and told.moved
            assert await it.outcome(ann.map("m").put("a", 2)) > 0
            it.m.start("heron")
            await it.m.joined()
            entry = await it.outcome(joe.map("m").get("a"))
            assert entry is not None and entry.value == 2

    play(scenario, ("heron", "stork"))


def test_a_map_most_of_whose_voters_are_lost_is_moved_if_all_lost_ones_are_named() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").put("a", 1))
            await it.outcome(ann.map("m").get("a"))
            it.m.kill("heron")
            await it.m.pass_time(SILENCE + 1)
            with pytest.raises(LocalError, match="ibis is running, and votes itself") as running:
                await forced(it, ann, "stork", stopped=["heron", "ibis"], accept_loss=True)
            assert running.value.code == "NOT_STOPPED"
            it.m.kill("ibis")
            await it.m.pass_time(60)
            for stopped in ([], ["heron"]):
                with pytest.raises(LocalError, match="ibis") as away:
                    await forced(it, ann, "stork", stopped=stopped, accept_loss=True)
                assert away.value.code == "NODES_AWAY"
            told = await forced(it, ann, "stork", stopped=["heron", "ibis"], accept_loss=True)
            assert told.moved and told.copies == 1
            assert await it.outcome(ann.map("m").put("a", 2)) > 0

    play(scenario)


def test_locks_of_a_lost_home_are_granted_only_after_the_leases_of_before() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork", client="joe") as joe, it.m.connect("stork") as ann:
            async with it.m.connect("heron") as far:
                await it.outcome(far.elect("leader", "heron:80").__aenter__())
                lock = await it.outcome(joe.elect("other", "stork:80", lease=60).__aenter__())
                watch = ann.watch_leader("other")
                await it.outcome(anext(watch))
            it.m.kill("heron")
            await it.m.pass_time(12)
            ask = ann.call(
                "space_move", space=SPACE, to="stork", force=True, stopped=["heron"], accept_loss=True
            )
            told = await it.outcome(ask)
            begun = it.m.time
            assert told["copies"] == 0 and told["spaces"][0]["home"] == "stork"
            again = await it.outcome(ann.elect("leader", "stork:81", lease=10, wait=200).__aenter__(), 250)
            assert it.m.time - begun >= MAX_LEASE and again.token > lock.token
            await it.outcome(again.__aexit__(None, None, None))

    play(scenario, ("heron", "stork"))


@pytest.mark.parametrize("nodes", [NODES, NODES[:2]])
def test_locks_that_were_moved_by_force_are_not_granted_while_an_old_lease_may_run(
    nodes: tuple[str, ...],
) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.call("space_declare", space="lock/default", home="heron"))
            held = ann.lock("nightly", lease=60)
            await it.outcome(held.__aenter__())
            it.m.kill("heron")
            stopped = ["heron"] if len(nodes) == 2 else []
            await it.m.pass_time(SILENCE + 1)
            told = await it.outcome(
                joe.call(
                    "space_move",
                    space="lock/default",
                    to="stork",
                    force=True,
                    stopped=stopped,
                    accept_loss=True,
                )
            )
            assert told["spaces"][0]["home"] == "stork"
            began = it.m.time
            await it.outcome(joe.lock("nightly", lease=5).__aenter__(), limit=90.0)
            assert held.lost and it.m.time - began > MAX_LEASE - 1

    play(scenario, nodes)
