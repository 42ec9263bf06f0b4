"""Locks whose home is moved, is cut off, or begins without the rows of the former one."""

from __future__ import annotations

import asyncio

import pytest

from mesh.errors import LocalError
from tests.mesh.features.spaces.players import Players, play

SPACE = "lock/default"


def test_a_lock_and_its_waiting_clients_move_with_its_home() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as ann:
            lock = await it.outcome(joe.lock("l", lease=10).__aenter__())
            waiting = asyncio.ensure_future(ann.lock("l", lease=10).__aenter__())
            await it.m.pass_time(3)
            await it.outcome(joe.call("space_move", space=SPACE, to="stork"))
            await it.m.pass_time(20)
            assert not lock.lost and not waiting.done()
            assert it.parts("stork").locks.figures() == {"locks_held": 1, "lock_waiters": 1}
            assert it.parts("heron").locks.figures() == {"locks_held": 0, "lock_waiters": 0}
            await it.outcome(lock.__aexit__(None, None, None))
            after = await it.outcome(waiting)
            assert after.token >> 40 > lock.token >> 40
            await it.outcome(after.__aexit__(None, None, None))

    play(scenario)


def test_law_2_a_home_that_is_cut_off_grants_and_renews_nothing() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("heron") as ann:
            lock = await it.outcome(joe.lock("l", lease=5).__aenter__())
            for other in ("stork", "ibis"):
                it.m.cut("heron", other)
            await it.until(lambda: lock.lost)
            with pytest.raises(LocalError) as stopped:
                await it.outcome(ann.lock("l", wait=0).__aenter__())
            assert stopped.value.code == "NO_LEASH"
            it.m.heal()
            await it.m.joined()
            after = await it.outcome(ann.lock("l").__aenter__())
            assert after.token > lock.token
            await it.outcome(after.__aexit__(None, None, None))

    play(scenario)


def test_a_space_made_anew_grants_nothing_while_former_leases_may_run() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            lock = await it.outcome(joe.lock("l", lease=60).__aenter__())
            await it.outcome(ann.call("space_remove", space=SPACE))
            waiting = asyncio.ensure_future(ann.lock("l", lease=10).__aenter__())
            await it.m.pass_time(30)
            assert not waiting.done()
            after = await it.outcome(waiting, limit=90)
            assert lock.lost and after.token > lock.token
            await it.outcome(after.__aexit__(None, None, None))

    play(scenario)


def test_a_lock_is_granted_at_another_home_after_its_home_is_lost() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("ibis") as ann:
            lock = await it.outcome(joe.lock("l", lease=10).__aenter__())
            it.m.kill("heron")
            after = await it.outcome(ann.lock("l", lease=10, wait=200).__aenter__(), limit=250)
            assert lock.lost and after.token >> 40 > lock.token >> 40
            await it.outcome(after.__aexit__(None, None, None))
            it.m.start("heron")
            await it.m.joined()

    play(scenario)


@pytest.mark.parametrize("to", ["ibis", "stork"])
def test_a_home_without_rows_that_is_moved_at_once_grants_nothing_while_leases_may_run(to: str) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("ibis") as joe, it.m.connect("stork") as ann:
            await it.outcome(joe.call("space_declare", space=SPACE, home="heron"))
            lock = await it.outcome(joe.lock("l", lease=60).__aenter__())
            it.m.kill("heron")
            stork = it.parts("stork").spaces
            await it.until(lambda: stork.find(SPACE).generation > 1)  # type: ignore[union-attr]
            await it.outcome(ann.call("space_move", space=SPACE, to=to))
            after = await it.outcome(ann.lock("l", lease=10).__aenter__(), limit=90)
            assert lock.lost and after.token > lock.token
            await it.outcome(after.__aexit__(None, None, None))

    play(scenario)
