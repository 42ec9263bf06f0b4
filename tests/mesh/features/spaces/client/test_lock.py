"""Locks, as clients at several nodes use them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mesh.errors import BadArgument, BadKey, BadName, Closed, LocalError
from mesh.features.spaces.client.lock import Lock
from tests.mesh.features.spaces.players import Players, play


async def enter(it: Players, lock: Lock) -> Lock:
    return await it.outcome(lock.__aenter__())


async def leave(it: Players, lock: Lock) -> None:
    await it.outcome(lock.__aexit__(None, None, None))


def test_one_client_at_a_time_has_a_lock_in_the_order_of_asking_with_growing_tokens() -> None:
    async def scenario(it: Players) -> None:
        inside, tokens = list[str](), list[int]()

        async def work(client: Any, name: str) -> None:
            async with client.lock("nightly") as lock:
                inside.append(name)
                assert len(inside) == 1 and not lock.lost
                tokens.append(lock.token)
                await client._space_leases["lock/default"]._pause(2.0)
                inside.remove(name)

        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann, it.m.connect("ibis") as bob:
            first = await enter(it, joe.lock("nightly"))
            tasks = []
            for client, name in ((bob, "bob"), (ann, "ann"), (joe, "joe")):
                tasks.append(asyncio.ensure_future(work(client, name)))
                await it.m.pass_time(1)
            assert tokens == []
            await it.m.pass_time(12)
            assert first.waiting == 3
            await leave(it, first)
            await it.outcome(asyncio.gather(*tasks))
            assert tokens == sorted({first.token, *tokens})[1:]

    play(scenario)


def test_a_lock_is_renewed_while_its_block_runs_and_is_free_after_it() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            lock = await enter(it, joe.lock("l", lease=3))
            await it.m.pass_time(20)
            assert not lock.lost
            with pytest.raises(LocalError, match="'l' is held by another client") as held:
                await enter(it, ann.lock("l", wait=0))
            assert held.value.code == "LOCK_HELD"
            began = it.m.time
            with pytest.raises(LocalError):
                await enter(it, ann.lock("l", wait=5))
            assert 5 <= it.m.time - began < 8
            await leave(it, lock)
            again = await enter(it, ann.lock("l", wait=0))
            assert again.token > lock.token and not lock.lost
            await leave(it, again)
            await it.m.pass_time(2)
            assert not it.parts("heron").homes.state("lock/default").values
            assert it.parts("heron").locks.figures() == {"locks_held": 0, "lock_waiters": 0}

    play(scenario)


def test_the_lock_of_a_client_that_is_gone_is_free_after_its_lease() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            lost = await enter(it, joe.lock("l", lease=6))
        async with it.m.connect("stork") as ann:
            began = it.m.time
            lock = await enter(it, ann.lock("l"))
            assert it.m.time - began <= 8 and lock.token > lost.token
            await leave(it, lock)

    play(scenario)


def test_a_client_that_is_cut_off_knows_that_its_lock_is_lost_before_another_has_it() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as ann:
            await it.outcome(ann.counter("n", group="x").add(1))
            async with it.m.connect("ibis") as joe:
                await leave(it, await enter(it, ann.lock("other")))
                lock = await enter(it, joe.lock("l", lease=10, cancel=True))
                for other in ("heron", "stork"):
                    it.m.cut("ibis", other)
                waiting = asyncio.ensure_future(ann.lock("l", lease=10).__aenter__())
                await it.until(lambda: lock.lost)
                assert not waiting.done()
                after = await it.outcome(waiting)
                assert after.token > lock.token
                it.m.heal()
                await it.m.joined()
                await it.m.pass_time(5)
                assert lock.lost and not after.lost
                await it.outcome(_ended(lock))
                await leave(it, after)

    play(scenario)


async def _ended(lock: Lock) -> None:
    with pytest.raises(LocalError) as lost:
        await lock.__aexit__(None, None, None)
    assert lost.value.code == "LOCK_LOST"


def test_a_block_is_cancelled_when_its_lock_is_lost() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as ann, it.m.connect("ibis") as joe:
            await leave(it, await enter(it, ann.lock("other")))

            async def work() -> None:
                async with joe.lock("l", lease=5, cancel=True):
                    await asyncio.get_running_loop().create_future()

            working = asyncio.ensure_future(work())
            await it.m.pass_time(2)
            for other in ("heron", "stork"):
                it.m.cut("ibis", other)
            with pytest.raises(LocalError, match="was lost before its block ended") as lost:
                await it.outcome(working)
            assert lost.value.code == "LOCK_LOST"
            it.m.heal()
            await it.m.joined()

    play(scenario)


def test_a_lock_outlives_a_restart_of_its_home_and_waiting_clients_keep_their_order() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as ann, it.m.connect("stork") as joe, it.m.connect("stork") as bob:
            async with it.m.connect("ibis") as maker:
                await leave(it, await enter(it, maker.lock("l")))
            lock = await enter(it, ann.lock("l", lease=30))
            got = list[str]()

            async def want(client: Any, name: str) -> None:
                async with client.lock("l", lease=6):
                    got.append(name)

            tasks = []
            for client, name in ((joe, "joe"), (bob, "bob")):
                tasks.append(asyncio.ensure_future(want(client, name)))
                await it.m.pass_time(3)
            it.m.kill("ibis")
            await it.m.pass_time(6)
            it.m.start("ibis")
            await it.m.joined()
            await it.m.pass_time(10)
            assert not lock.lost and got == []
            await leave(it, lock)
            await it.outcome(asyncio.gather(*tasks))
            assert got == ["joe", "bob"]

    play(scenario)


def test_a_lock_moves_with_its_client_and_the_node_that_was_left_cannot_free_it() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("ibis") as ann, it.m.connect("heron", "stork", client="joe") as joe:
            await leave(it, await enter(it, ann.lock("other")))
            lock = await enter(it, joe.lock("l", lease=15))
            for _ in range(3):
                left = str(joe._core.line.home)
                it.m.kill(left)
                await it.until(lambda left=left: str(joe._core.line.home) != left)  # type: ignore[misc]
                await it.m.pass_time(10)
                it.m.start(left)
                await it.m.joined()
                assert not lock.lost
            with pytest.raises(LocalError):
                await enter(it, ann.lock("l", wait=0))
            await leave(it, lock)
            await leave(it, await enter(it, ann.lock("l", wait=0)))

    play(scenario)


def test_a_cancelled_wait_leaves_the_queue() -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("stork") as ann:
            lock = await enter(it, joe.lock("l"))
            waiting = asyncio.ensure_future(ann.lock("l").__aenter__())
            await it.m.pass_time(1)
            locks = it.parts("heron").locks
            assert locks.figures() == {"locks_held": 1, "lock_waiters": 1}
            waiting.cancel()
            await it.until(lambda: locks.figures()["lock_waiters"] == 0)
            await leave(it, lock)
            await leave(it, await enter(it, ann.lock("l", wait=0)))

    play(scenario)


def test_many_locks_of_one_client_are_renewed_in_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("stork") as ann, it.m.connect("heron") as joe:
            await leave(it, await enter(it, ann.lock("other")))
            held = [joe.lock(f"l{n}", lease=6) for n in range(200)]
            await it.outcome(asyncio.gather(*(lock.__aenter__() for lock in held)))
            asked = list[int]()
            original = type(joe._leases_of("lock/default"))._renew

            async def counted(self: Any, uses: list[Any]) -> None:
                asked.append(len(uses))
                await original(self, uses)

            monkeypatch.setattr("mesh.features.spaces.client.leases.Leases._renew", counted)
            await it.m.pass_time(20)
            assert sum(asked) >= 200 * 9 and len(asked) < 60
            assert not any(lock.lost for lock in held)
            await it.outcome(asyncio.gather(*(lock.__aexit__(None, None, None) for lock in held)))
            assert it.parts("stork").locks.figures()["locks_held"] == 0

    play(scenario, ("heron", "stork"))


def test_more_waiting_requests_than_are_held_back_get_their_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.client.leases.POLLS", 2)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:

            async def use(n: int) -> int:
                async with joe.lock("l", lease=3) as lock:
                    await joe._leases_of("lock/default")._pause(0.1)
                    return lock.token

            assert len(set(await it.outcome(asyncio.gather(*map(use, range(8)))))) == 8

    play(scenario, ("heron",))


def test_a_full_home_refuses_and_names_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.spaces.model.locks.WAITERS", 1)

    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe, it.m.connect("heron") as ann:
            lock = await enter(it, joe.lock("l"))
            waiting = asyncio.ensure_future(joe.lock("l").__aenter__())
            await it.m.pass_time(0.5)
            with pytest.raises(LocalError, match="too many locks or waiting clients") as many:
                await enter(it, ann.lock("l"))
            assert many.value.code == "TOO_MANY_LOCKS"
            await leave(it, lock)
            await leave(it, await it.outcome(waiting))

    play(scenario, ("heron",))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda m: m.lock(""), BadKey),
        (lambda m: m.lock("l" * 513), BadKey),
        (lambda m: m.lock("l", group=""), BadName),
        *[
            (lambda m, lease=lease: m.lock("l", lease=lease), BadArgument)
            for lease in (0, 0.99, 60.1, float("nan"), 1e12, -1)
        ],
        (lambda m: m.lock("l", wait=-1), BadArgument),
        (lambda m: m.lock("l", wait=float("nan")), BadArgument),
        (lambda m: m.lock("l", cancel=1), BadArgument),
        (lambda m: m.lock("l").token, Closed),
        (lambda m: m.lock("l").lost, Closed),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_sent(call: Any, error: type[Exception]) -> None:
    async def scenario(it: Players) -> None:
        async with it.m.connect("heron") as joe:
            with pytest.raises(error):
                call(joe)
            assert it.parts("heron").spaces.figures() == {"spaces": 0}

    play(scenario, ("heron",))
