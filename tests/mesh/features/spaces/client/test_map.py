"""Maps, as clients at several nodes use them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.errors import BadArgument, BadKey, BadName, LocalError, MeshTimeout, MessageTooLarge
from tests.mesh.features.spaces.players import Players, play


def test_a_value_is_the_same_at_every_node_and_keeps_its_type() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron", client="joe") as joe, it.m.connect("stork", client="ann") as ann:
            mine, theirs = joe.map("prices"), ann.map("prices")
            versions = []
            for key, value in (("a", 0.5), ("b", "text"), ("c", b"bytes"), ("d", {"x": [1]})):
                versions.append(await it.outcome(mine.put(key, value)))
            assert versions == sorted(set(versions))
            found = await it.outcome(theirs.items())
            assert [(e.key, e.value) for e in found] == [
                ("a", 0.5), ("b", "text"), ("c", b"bytes"), ("d", {"x": [1]}),
            ]  # fmt: skip
            assert [e.version for e in found] == versions
            entry = await it.outcome(theirs.get("a"))
            assert entry is not None and (entry.value, entry.version) == (0.5, versions[0])
            assert await it.outcome(theirs.get("z")) is None

    play(scenario)


def test_law_2_a_value_changes_only_if_its_version_is_the_expected_one() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            mine, theirs = joe.map("m"), ann.map("m")
            first = await it.outcome(mine.put_if("k", 1, version=0))
            assert first is not None and await it.outcome(theirs.put_if("k", 2, version=0)) is None
            second = await it.outcome(theirs.put_if("k", 2, version=first))
            assert second is not None and second > first
            assert await it.outcome(mine.put_if("k", 3, version=first)) is None
            assert await it.outcome(mine.remove("k", version=first)) is False
            assert await it.outcome(mine.remove("k", version=second)) is True
            assert await it.outcome(mine.remove("k")) is False
            assert await it.outcome(theirs.put_if("k", 4, version=0)) is not None

    play(scenario)


def test_a_value_disappears_at_its_end() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork") as ann:
            found = ann.map("m")
            await it.outcome(found.put("k", 1, ttl=2))
            await it.outcome(found.put("kept", 1, ttl=3))
            await it.outcome(found.put("kept", 2))
            entry = await it.outcome(found.get("k"))
            assert entry is not None and entry.expires > 0
            await it.m.pass_time(5)
            assert [(e.key, e.value, e.expires) for e in await it.outcome(found.items())] == [("kept", 2, 0)]
            home = it.parts("stork").homes.state("map/m")
            assert (list(home.values), home.head.keys) == (["kept"], 1)

    play(scenario)


def test_all_values_outlive_a_kill_of_the_home_and_a_write_meanwhile_counts_once() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron", client="joe") as joe:
            await it.outcome(joe.map("m").declare(home="ibis"))
            for n in range(20):
                await it.outcome(joe.map("m").put(f"k{n}", n))
            it.m.kill("ibis")
            await it.m.pass_time(6)
            with pytest.raises(LocalError, match=r"reached from heron.*may have been made") as away:
                await it.outcome(joe.map("m").put("k0", "lost"))
            assert away.value.code == "NODE_AWAY"
            meanwhile = asyncio.ensure_future(joe.map("m").put("late", 1))
            await it.m.pass_time(2)
            it.m.start("ibis")
            await it.m.joined()
            assert await it.outcome(meanwhile) and await it.outcome(joe.map("m").remove("late"))
            found = await it.outcome(joe.map("m").items())
            assert {e.key: e.value for e in found} == {f"k{n}": n for n in range(20)}
            assert await it.outcome(joe.map("m").put("k0", "new")) > max(e.version for e in found)

    play(scenario)


def test_a_client_whose_node_is_killed_repeats_its_write_at_another_one_and_it_counts_once() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron", "stork", client="joe") as joe:
            counter = joe.counter("n")
            async with it.m.connect("ibis") as other:
                await it.outcome(other.counter("n").add(1))
            for _ in range(5):
                task = asyncio.ensure_future(counter.add(1))
                home = str(joe._core.line.home)
                it.m.kill(home)
                await it.until(task.done)
                it.m.start(home)
                await it.m.joined()
            assert await it.outcome(counter.value()) == 6

    play(scenario, ("heron", "stork", "ibis"))


def test_a_node_that_is_cut_off_reads_and_creates_nothing() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as far:
            await it.outcome(joe.map("m").put("k", 1))
            for other in ("heron", "stork"):
                it.m.cut("ibis", other)
            await it.m.pass_time(10)
            with pytest.raises(LocalError) as unreachable:
                await it.outcome(far.map("m").get("k"))
            assert unreachable.value.code == "NODE_AWAY"
            with pytest.raises(LocalError, match=r"unreachable: heron, stork") as few:
                await it.outcome(far.map("other").get("k"))
            assert few.value.code == "NODES_AWAY"
            await it.outcome(joe.map("other").put("k", 1))
            it.m.heal()
            await it.m.joined()
            entry = await it.outcome(far.map("other").get("k"))
            assert entry is not None and entry.value == 1

    play(scenario)


def test_a_full_map_refuses_new_keys_and_says_what_to_do() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            found = joe.map("m")
            assert await it.outcome(found.declare(max_keys=2)) == "heron"
            await it.outcome(found.put("a", 1))
            await it.outcome(found.put("b", 1))
            with pytest.raises(LocalError, match="map/m, 'c': The map is full") as full:
                await it.outcome(found.put("c", 1))
            assert full.value.code == "MAP_FULL" and "Remove keys" in full.value.hint
            await it.outcome(found.put("a", 2))
            await it.outcome(found.remove("b"))
            await it.outcome(found.put("c", 1))
            assert await it.outcome(found.declare(max_keys=3)) == "heron"
            await it.outcome(found.put("d", 1))

    play(scenario)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.map("").put("k", 1), BadName),
        (lambda m: m.map("m").put("", 1), BadKey),
        (lambda m: m.map("m").put("k" * 513, 1), BadKey),
        (lambda m: m.map("m").put("k", b"x" * 204_801), MessageTooLarge),
        (lambda m: m.map("m").put("k", 1, ttl=0), BadArgument),
        (lambda m: m.map("m").put("k", 1, ttl=0.05), BadArgument),
        (lambda m: m.map("m").put("k", 1, ttl=float("nan")), BadArgument),
        (lambda m: m.map("m").put("k", 1, ttl=1e12), BadArgument),
        (lambda m: m.map("m").put_if("k", 1, version=-1), BadArgument),
        (lambda m: m.map("m").put_if("k", 1, version=2**63), BadArgument),
        (lambda m: m.map("m").put_if("k", 1, version=1.0), BadArgument),
        (lambda m: m.map("m").remove("k", version=0), BadArgument),
        (lambda m: m.map("m").declare(max_keys=0), BadArgument),
        (lambda m: m.map("m").declare(max_keys=10**6 + 1), BadArgument),
        (lambda m: m.counter("c").add(1.5), BadArgument),
        (lambda m: m.counter("c").add(2**63), BadArgument),
        (lambda m: m.counter("").add(1), BadKey),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_sent(call: Any, error: type[Exception]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(error):
                await it.outcome(call(joe))
            assert it.parts("heron").spaces.figures() == {"spaces": 0}

    play(scenario, ("heron",))


def test_a_client_that_gives_up_does_not_write_later() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork", client="joe") as joe:
            found = joe.map("m")
            await it.outcome(found.declare(home="heron"))
            it.m.kill("stork")
            with pytest.raises(MeshTimeout):
                await it.outcome(found.put("k", 1, timeout=1))
            it.m.start("stork")
            await it.m.joined()
            assert await it.outcome(found.get("k")) is None
            assert await it.outcome(found.put("k", 2)) > 0

    play(scenario, ("heron", "stork"))
