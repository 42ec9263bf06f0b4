"""Prepared transactions as user code writes them, on nodes in memory and on a killed one."""

from __future__ import annotations

import asyncio

import pytest

import mesh
from mesh.errors import BadArgument, Closed, LocalError, TransactionRefused
from tests.mesh.client.queues import run
from tests.mesh.features.transactions.client.test_transaction import job
from tests.mesh.meshes import eventually
from tests.mesh.running import RunningNode, running


def test_a_prepared_transaction_happens_at_its_decision() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it), m.subscribe("orders/42") as orders:
            async with m.transaction() as tx:
                tx.ack(it)
                tx.put("next", "2")
                tx.publish("orders/42", "done")
                name = await tx.prepare("xid-17")
            assert name.endswith("/xid-17")
            with pytest.raises(Closed):
                _ = tx.results
            assert ((await jobs.info()).out, (await after.info()).ready) == (1, 0)
            (found,) = await m.recover()
            assert (found.name, found.operations, found.is_finishing) == (name, 3, False)
            await m.commit_prepared(name)
            await m.commit_prepared(name)
            assert (await anext(orders)).text == "done"
            assert ((await jobs.info()).out, (await after.info()).ready) == (0, 1)
            with pytest.raises(TransactionRefused) as refused:
                await m.rollback_prepared(name)
            assert refused.value.code == "DECIDED"
            left = await m.recover()
            assert (left, left.missing) == ([], ())

    run(scenario)


def test_a_rolled_back_transaction_gives_its_delivery_again_and_a_name_is_used_once() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it):
            async with m.transaction() as tx:
                tx.ack(it)
                name = await tx.prepare()
            with pytest.raises(TransactionRefused) as refused:
                async with m.transaction() as tx:
                    tx.put("next", "2")
                    await tx.prepare(name.partition("/")[2])
            assert refused.value.code == "NAME_TAKEN"
            await m.rollback_prepared(name)
            async with jobs.consume() as consumer:
                again = await anext(consumer)
                assert (again.text, again.attempt) == ("1", 2)
            assert (await after.info()).ready == 0
            with pytest.raises(BadArgument):
                await m.commit_prepared("x")
            with pytest.raises(LocalError) as unknown:
                await m.commit_prepared(name + "y")
            assert unknown.value.code == "NO_TRANSACTION"

    run(scenario)


@pytest.mark.slow
def test_C27_prepared_transactions_outlive_a_kill_and_are_decided_through_another_node() -> None:
    async def prepare_all(a: RunningNode) -> list[str]:
        async with mesh.connect("a", environ=a.environ) as m:
            q = m.queue("jobs")
            await q.declare()
            for n in range(10):
                await q.put(str(n))
            names = []
            async with q.consume() as jobs:
                for n in range(10):
                    async with m.transaction() as tx:
                        tx.ack(await anext(jobs))
                        names.append(await tx.prepare(f"x{n}"))
        return names

    async def decide_all(a: RunningNode, names: list[str]) -> None:
        async with mesh.connect("b", environ=a.environ) as m:

            async def is_found() -> bool:
                found = await m.recover()
                return ([each.name for each in found], found.missing) == (names, ())

            await eventually(is_found)  # b is linked with a again
            q = m.queue("jobs")
            assert await q.get(timeout=2) is None
            for name in names:
                await m.rollback_prepared(name)
            async with q.consume() as jobs:
                got = [await anext(jobs) for _ in range(10)]
            assert sorted(int(each.text) for each in got) == list(range(10))
            assert {each.attempt for each in got} == {2}

    with running("a") as a, running("b", beside=a):
        names = asyncio.run(asyncio.wait_for(prepare_all(a), 60))
        a.kill()
        a.start()
        asyncio.run(asyncio.wait_for(decide_all(a, names), 120))


@pytest.mark.slow
def test_a_blocking_client_prepares_and_decides() -> None:
    with running("a") as a, mesh.sync.connect(environ=a.environ) as m:
        q = m.queue("next")
        q.declare()
        with m.transaction() as tx:
            tx.put("next", "2")
            name = tx.prepare("x")
        assert (name, [each.name for each in m.recover()]) == ("a/x", ["a/x"])
        a.kill()
        a.start()
        m.commit_prepared(name)
        assert q.info().ready == 1
