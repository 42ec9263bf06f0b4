"""Watches: present values first, then each change once and in order."""

from __future__ import annotations

from mesh.features.spaces.client.watch import Change
from tests.mesh.features.spaces.players import Players, play


def named(change: Change[object]) -> tuple[str, str, object]:
    return change.kind, change.key, change.value


def test_a_watch_begins_with_present_values_and_then_has_each_change() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            found = joe.map("m")
            await it.outcome(found.put("f/a", 1))
            await it.outcome(found.put("other", 1))
            watch = ann.map("m").watch("f/#")
            assert named(await it.outcome(anext(watch))) == ("put", "f/a", 1)
            await it.outcome(found.put("other", 2))
            await it.outcome(found.put("f/b", 2, ttl=1))
            await it.outcome(found.remove("f/a"))
            changes = [await it.outcome(anext(watch)) for _ in range(3)]
            assert [named(change) for change in changes] == [
                ("put", "f/b", 2), ("removed", "f/a", None), ("expired", "f/b", None),
            ]  # fmt: skip
            assert [c.version for c in changes] == sorted({c.version for c in changes})
            await watch.aclose()

    play(scenario)


def test_a_watch_goes_on_after_its_home_or_its_node_was_killed() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            found = joe.map("m")
            await it.outcome(found.declare(home="ibis"))
            await it.outcome(found.put("k", 0))
            watch = ann.map("m").watch()
            assert named(await it.outcome(anext(watch))) == ("put", "k", 0)
            for n, killed in enumerate(("ibis", "stork", "ibis"), 1):
                it.m.kill(killed)
                await it.m.pass_time(3)
                it.m.start(killed)
                await it.m.joined()
                await it.outcome(found.put("k", n))
                change = await it.outcome(anext(watch))
                assert named(change) == ("put", "k", n)
            await watch.aclose()

    play(scenario)
