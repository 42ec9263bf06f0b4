"""Transactions as user code writes them, on real nodes in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mesh
from mesh.client.client import Client
from mesh.errors import (
    BadArgument,
    BadKey,
    BadName,
    Closed,
    LocalError,
    MessageTooLarge,
    PublishRefused,
    TransactionRefused,
)
from mesh.features.transactions.client.transaction import Transaction
from mesh.wire.limits import MIB, TRANSACTION_ENVELOPES, TRANSACTION_OPERATIONS
from tests.mesh.client.queues import got, queue, run


@asynccontextmanager
async def job(**terms: Any) -> AsyncIterator[tuple[Client, mesh.Queue, mesh.Queue, mesh.Delivery[Any]]]:
    """Yield a client with the queues `jobs` and `next`, and a delivery of `jobs`."""
    async with queue(**terms) as (m, jobs):
        after = m.queue("next")
        await after.declare(**terms)
        await jobs.put("1")
        yield m, jobs, after, await got(jobs)


def transaction(m: Client, timeout: float = 30.0) -> Transaction:
    return Transaction(m, timeout)


def test_all_of_it_happens_at_the_end_of_the_block() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it), m.subscribe("orders/42") as orders:
            async with it:
                async with transaction(m) as tx:
                    tx.ack(it)
                    tx.put("next", {"order": 42}, priority=9)
                    tx.publish("orders/42", "done")
                    tx.put("next", b"2")
                    assert (await after.info()).ready == 0
                assert [(each.state, each.matched) for each in tx.results] == [("OK", 1)] * 3
                assert len({each.id for each in tx.results}) == 3
            assert (await anext(orders)).text == "done"
            assert [each.text for each in await after.peek(5)] == ['{"order":42}', "2"]
            found = await jobs.info()
            assert (found.ready, found.out) == (0, 0)
            assert await m.final(tx.results[0]) == tx.results[0]

    run(scenario)


def test_an_exception_in_the_block_drops_all_of_it() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it):
            with pytest.raises(ZeroDivisionError):
                async with it, transaction(m) as tx:
                    tx.ack(it)
                    tx.put("next", b"2")
                    raise ZeroDivisionError
            with pytest.raises(Closed):
                tx.results  # noqa: B018
            with pytest.raises(Closed):
                tx.put("next", b"2")
            assert (await after.info()).ready == 0
            again = await got(jobs)
            assert again.attempt == 2
            async with transaction(m) as tx:
                pass
            assert tx.results == []

    run(scenario)


def test_a_refusal_names_the_operation_and_leaves_the_job_to_the_consumer() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it):
            with pytest.raises(TransactionRefused) as refused:
                async with it, transaction(m) as tx:
                    tx.put("next", b"2")
                    tx.ack(it)
                    tx.put("nowhere", b"3")
            assert (refused.value.code, refused.value.operation) == ("NO_QUEUE", 2)
            assert (await after.info()).ready == 0
            again = await got(jobs)
            assert again.attempt == 2
            await again.ack()
            await m.flush()  # the refusal is raised once

    run(scenario)


def test_a_message_is_settled_once() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, after, it):
            async with transaction(m) as tx:
                tx.ack(it)
                with pytest.raises(LocalError) as error:
                    tx.nack(it)
                assert error.value.code == "SETTLED"
            with pytest.raises(LocalError) as error:
                await it.ack()
            assert error.value.code == "SETTLED"
            async with transaction(m) as tx:
                with pytest.raises(LocalError) as error:
                    tx.ack(it)
                assert error.value.code == "SETTLED"
            await jobs.put("2")
            other = await got(jobs)
            with pytest.raises(LocalError) as error:
                async with transaction(m) as tx:
                    tx.ack(other)
                    tx.put("next", b"1")
                    await other.ack()
            assert error.value.code == "SETTLED"
            assert (await after.info()).ready == 0

    run(scenario)


def test_a_nack_comes_again_after_its_delay() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, _, it):
            async with transaction(m) as tx:
                tx.nack(it, delay=60)
                tx.put("next", b"1")
            found = await jobs.info()
            assert (found.ready, found.out, found.delayed) == (0, 0, 1)

    run(scenario)


def test_bad_arguments_raise_at_the_call() -> None:
    async def scenario() -> None:
        async with job() as (m, jobs, _, it):
            async with transaction(m) as tx:
                mistakes: list[tuple[type[Exception], Callable[[], None]]] = [
                    (BadArgument, lambda: tx.ack("job")),
                    (BadArgument, lambda: tx.nack(it, delay=-1)),
                    (BadArgument, lambda: tx.nack(it, delay=2**33)),
                    (BadName, lambda: tx.put("", b"1")),
                    (BadArgument, lambda: tx.put("next", b"1", priority=10)),
                    (BadKey, lambda: tx.publish("", b"1")),
                    (PublishRefused, lambda: tx.publish("__sys__x", b"1")),
                    (PublishRefused, lambda: tx.publish("a", b"1", domain="__sys__")),
                    (MessageTooLarge, lambda: tx.publish("a", b"x" * (MIB + 1))),
                    (BadArgument, lambda: tx.send("calc/add", b"1")),
                    (BadArgument, lambda: tx.send("/client/joe", b"1", delivery="one")),
                ]
                for error, mistake in mistakes:
                    with pytest.raises(error):
                        mistake()
            assert tx.results == []
            assert (await jobs.info()).out == 1

    run(scenario)


def test_each_limit_is_checked_at_the_call() -> None:
    async def scenario() -> None:
        async with job() as (m, _, after, it):
            async with transaction(m) as tx:
                for _ in range(TRANSACTION_OPERATIONS - 1):
                    tx.put("next", b"")
                tx.ack(it)
                with pytest.raises(MessageTooLarge):
                    tx.put("next", b"")
            assert (await after.info()).ready == TRANSACTION_OPERATIONS - 1
            await after.purge()
            async with transaction(m) as tx:
                for _ in range(8):
                    tx.put("next", b"x" * MIB)
                with pytest.raises(MessageTooLarge):
                    tx.put("next", b"x")
            assert (await after.info()).ready == 8
            await after.purge()
            async with transaction(m) as tx:
                for n in range(TRANSACTION_ENVELOPES):
                    tx.put("next", b"", priority=n % 2)
                with pytest.raises(MessageTooLarge):
                    tx.put("next", b"", priority=0 if n % 2 else 1)
            assert (await after.info()).ready == TRANSACTION_ENVELOPES

    run(scenario)
