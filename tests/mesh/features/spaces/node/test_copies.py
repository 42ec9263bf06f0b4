"""Stale reads: copies while the home does not act, and a watch that goes on."""

from __future__ import annotations

import pytest

from mesh.errors import LocalError
from mesh.features.spaces.node import copies
from mesh.flow.leash import LEASH
from tests.mesh.features.spaces.players import Players, play


def test_a_read_that_may_be_stale_is_answered_with_copies_while_the_home_is_away() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            mine, theirs = joe.map("m"), ann.map("m")
            await it.outcome(mine.put("a", 1))
            version = await it.outcome(theirs.put("b", "two"))
            await it.outcome(theirs.put("c", 3, ttl=5))
            await it.outcome(theirs.put("d", 4))
            await it.outcome(theirs.remove("d"))
            await it.outcome(theirs.get("a"))
            entry = await it.outcome(theirs.get("b", fresh=False))
            assert entry is not None and not entry.stale
            await it.outcome(mine.put("unseen", 1))
            it.m.kill("heron")
            await it.m.pass_time(8)
            with pytest.raises(LocalError) as away:
                await it.outcome(theirs.get("b"))
            assert away.value.code == "NODE_AWAY"
            entry = await it.outcome(theirs.get("b", fresh=False))
            assert entry is not None and (entry.value, entry.version, entry.stale) == ("two", version, True)
            found = await it.outcome(theirs.items(fresh=False))
            assert [(e.key, e.value, e.stale) for e in found] == [("a", 1, True), ("b", "two", True)]
            assert await it.outcome(theirs.get("unseen", fresh=False)) is None

    play(scenario)


def test_a_home_without_its_leash_answers_with_its_values_as_stale() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            await it.outcome(joe.map("m").put("a", 1))
            for other in ("stork", "ibis"):
                it.m.cut("heron", other)
            await it.m.pass_time(LEASH + 1)
            entry = await it.outcome(joe.map("m").get("a", fresh=False))
            assert entry is not None and (entry.value, entry.stale) == (1, True)
            assert [e.stale for e in await it.outcome(joe.map("m").items(fresh=False))] == [True]

    play(scenario)


def test_a_watch_begins_with_copies_and_reads_the_values_again_when_the_home_is_back() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron", "ibis") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").declare(home="heron"))
            await it.outcome(ann.map("m").put("a", 1))
            await it.outcome(joe.map("m").put("b", 1))
            it.m.kill("heron")
            await it.m.pass_time(8)
            watch = ann.map("m").watch()
            assert (await it.outcome(anext(watch))).key == "a"
            it.m.start("heron")
            await it.m.joined()
            await it.outcome(joe.map("m").put("c", 1))
            changes = [await it.outcome(anext(watch)) for _ in range(3)]
            assert [(each.kind, each.key) for each in changes] == [("gap", ""), ("put", "b"), ("put", "c")]

    play(scenario)


def test_the_oldest_copies_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "BYTES", 5000)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.map("m").declare())
            for n in range(10):
                await it.outcome(ann.map("m").put(f"k{n}", "x" * 1000))
            it.m.kill("heron")
            await it.m.pass_time(8)
            found = await it.outcome(ann.map("m").items(fresh=False))
            assert [e.key for e in found] == ["k6", "k7", "k8", "k9"]

    play(scenario)
