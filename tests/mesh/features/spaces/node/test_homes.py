"""The home of a space: what could not be stored leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mesh.errors import LocalError, StoreFull
from mesh.features.spaces.node.homes import SESSIONS
from mesh.kernel.context.disk import Disk
from mesh.operations import Op, Put
from tests.mesh.features.spaces.full_disks import FullDisk
from tests.mesh.features.spaces.players import Players, play


def test_a_write_that_is_not_stored_has_no_effect_and_its_number_can_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = FullDisk(monkeypatch, b"spaces/h")

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            found = joe.map("m")
            await it.outcome(found.put("k", 1))
            disk.is_full = True
            with pytest.raises(LocalError) as full:
                await it.outcome(ann.map("m").put("k", 2))
            assert full.value.code == StoreFull.code
            entry = await it.outcome(found.get("k"))
            assert entry is not None and entry.value == 1
            disk.is_full = False
            assert await it.outcome(ann.map("m").put_if("k", 3, version=entry.version)) is not None

    play(scenario)


def test_a_reader_never_sees_a_value_that_is_not_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Callable[[], None]] = []
    commit = Disk.commit

    def holding(self: Disk, ops: Sequence[Op], then: Callable[[Any], None]) -> None:
        is_write = any(isinstance(op, Put) and op.key.startswith(b"spaces/v") for op in ops)
        if is_write:
            held.append(lambda: commit(self, ops, then))
        else:
            commit(self, ops, then)

    monkeypatch.setattr(Disk, "commit", holding)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            found = joe.map("m")
            await it.outcome(found.declare())
            writing = asyncio.ensure_future(found.put("k", 1))
            await it.until(lambda: held)
            assert await it.outcome(found.get("k")) is None and not writing.done()
            held.pop()()
            await it.outcome(writing)
            assert await it.outcome(found.get("k")) is not None

    play(scenario, ("heron",))


def test_the_outcomes_of_the_oldest_sessions_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.node.homes.SESSIONS", 3)
    assert SESSIONS == 10_000

    async def scenario(it: Players) -> None:
        for n in range(6):
            async with it.m.connect("heron", client=f"c{n}") as client:
                await it.outcome(client.counter("n").add(1))
        state = it.parts("heron").homes.state("counter/default")
        assert len(state.outcomes) == 3
        it.m.kill("heron")
        it.m.start("heron")
        await it.m.joined()
        assert len(it.parts("heron").homes.state("counter/default").outcomes) == 3

    play(scenario, ("heron",))
