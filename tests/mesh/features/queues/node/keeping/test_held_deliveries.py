"""Deliveries that transactions hold, while the session of their consumer moves to another node."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mesh.testing
from mesh.features.queues.node.keeping.held_deliveries import QueueSettlements
from mesh.features.queues.node.parts import QueueParts
from mesh.proof import stream_of
from tests.mesh.features.queues.node.keeping.moving_jobs import NODES, QUEUE, Jobs


def first_job_held(it: Jobs, is_prepared: bool) -> QueueSettlements:
    """Let a transaction at heron hold the first delivery of joe."""
    parts = it.m._nodes["heron"].core.parts
    planned = parts[QueueParts].held.plan_settlements(parts.sessions.by_stream[stream_of(it.joe._key.public)])
    planned.add_settled(QUEUE, stream_of(it.boss._key.public), [(1, 1)], True, 0)
    planned.hold(is_prepared)
    return planned


def played(scenario: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def within() -> None:
        async with mesh.testing.Mesh(NODES, clock="virtual") as m:
            async with Jobs(m, monkeypatch).opened() as it:
                it.run(it.consume(it.joe, it.got, it.begin))
                await it.m.pass_time(0.1)
                await it.put("1", "2")
                await it.begun(2)
                await scenario(it)

    asyncio.run(within())


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_claim_of_a_visited_node_waits_for_the_landing(
    is_committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(it: Jobs) -> None:
        planned = first_job_held(it, is_prepared=False)
        it.visit("stork")
        await it.m.pass_time(6)
        acking = it.run(it.ack(it.got[1]))
        await it.m.pass_time(3)
        assert it.at == "stork" and not acking.done(), "the claim waits"
        if is_committed:
            planned.land()
        else:
            planned.give_back()
        await it.m.pass_time(6)
        assert it.acked == ["2"]
        await it.ack(it.got[0])
        assert (it.acked, it.failed) == (["2", "1"], []), "an ack that is repeated has no effect"
        await it.m.pass_time(30)
        assert it.figures("queue_messages") == {"queue_messages": 0} and len(it.got) == 2

    played(scenario, monkeypatch)


def test_a_delivery_of_a_prepared_transaction_is_not_the_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(it: Jobs) -> None:
        planned = first_job_held(it, is_prepared=True)
        it.visit("stork")
        await it.m.pass_time(6)
        await it.ack(it.got[1], it.got[0])
        assert (it.acked, it.failed) == (["2"], ["LEASE_OVER"])
        planned.land()
        await it.m.pass_time(1)
        assert it.figures("queue_messages") == {"queue_messages": 0}

    played(scenario, monkeypatch)
