"""Jobs of a session that visits stork, which cannot link with heron, the node of the jobs: ibis relays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import mesh.testing
from mesh.features.queues.model.consumers.queue_consumer import GRACE_TO_MOVE
from mesh.features.queues.node.keeping.claimed_deliveries import SILENCE
from mesh.testing import arguments
from mesh.wire.calls import AskHold, AskSettle
from mesh.wire.replies import DeliveriesHeld, Settlements
from tests.mesh.features.queues.node.keeping.moving_jobs import NODES, QUEUE, Jobs, texts

Scenario = Callable[[Jobs], Coroutine[Any, Any, None]]
FIVE = ["1", "2", "3", "4", "5"]
LINKS = {"heron": ["ibis"], "ibis": ["heron", "stork"], "stork": ["ibis"]}


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario], None]:
    """Play a scenario in which joe has prefetched five jobs at heron, begun two, and moved to stork."""

    def run(scenario: Scenario) -> None:
        async def within() -> None:
            m = mesh.testing.Mesh(NODES, clock="virtual")
            for name, known in LINKS.items():
                sections = "".join(f"[nodes.{other}]\n" for other in known)
                m._nodes[name]._config = arguments.config(f'links = "configured"\n{sections}')
            async with m:
                async with Jobs(m, monkeypatch).opened() as it:
                    await m.pass_time(1)  # all nodes know the queue
                    m.cut("heron", "stork")
                    it.run(it.consume(it.joe, it.got, it.begin))
                    await m.pass_time(0.1)
                    await it.put(*FIVE)
                    await it.begun(2)
                    it.run(it.consume(it.other, it.taken))
                    it.visit("stork")
                    await m.pass_time(5)
                    assert it.at == "stork"
                    await scenario(it)

        asyncio.run(within())

    return run


def test_jobs_stay_the_clients_and_are_settled_through_the_relay(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await it.m.pass_time(60)
        await it.ack(*it.got)
        await it.begun(3)
        await it.ack(*it.got[2:])
        assert (it.acked, it.failed, it.taken) == (FIVE, [], [])
        assert not any(delivery.redelivered for delivery in it.got)
        await it.m.pass_time(30)
        assert it.figures("queue_messages") == {"queue_messages": 0}
        heron, stork = (it.m._nodes[name].core.parts for name in ("heron", "stork"))
        assert heron.neighbours.peers[stork.context.me.uuid].data is None

    play(scenario)


@pytest.mark.parametrize("name", ["heron", "ibis"])
def test_the_claim_is_repeated_when_the_part_or_the_relay_restarts(play: Any, name: str) -> None:
    async def scenario(it: Jobs) -> None:
        it.m.kill(name)
        await it.m.pass_time(3)
        it.m.start(name)
        await it.m.pass_time(30)
        await it.begun(3)
        await it.ack(*it.got)
        await it.m.pass_time(30)
        assert (it.acked, it.failed, it.taken) == (FIVE, [], [])

    play(scenario)


def test_law_3_without_the_relay_the_jobs_go_to_others_after_silence_and_grace(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        it.m.kill("ibis")
        await it.m.pass_time(SILENCE)
        assert it.taken == []
        await it.m.pass_time(GRACE_TO_MOVE + 3)
        assert sorted(texts(it.taken)) == FIVE
        assert all(delivery.redelivered for delivery in it.taken)
        it.m.start("ibis")
        await it.m.pass_time(30)
        await it.ack(*it.got)
        assert (it.acked, it.failed) == ([], ["LEASE_OVER", "LEASE_OVER"])

    play(scenario)


def test_a_consumer_that_leaves_behind_the_relay_gives_up_its_jobs_at_once(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await it.joe.close()
        await it.m.pass_time(3)
        assert sorted(texts(it.taken)) == FIVE

    play(scenario)


def test_the_direct_link_is_used_as_soon_as_there_is_one(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        it.m.heal()
        await it.m.pass_time(60)
        it.m.kill("ibis")
        await it.m.pass_time(60)
        await it.begun(3)
        await it.ack(*it.got)
        assert (it.acked, it.failed, it.taken) == (FIVE, [], [])

    play(scenario)


def test_law_3_of_relays_a_relay_cannot_settle_for_a_node_that_is_linked(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        it.visit("ibis")
        await it.m.pass_time(5)
        parts, heron = it.m._nodes["ibis"].core.parts, it.m._nodes["heron"].core.parts.context.me.uuid
        proof = parts.context.visits.find(it.joe._shell.core.stream)
        assert proof is not None
        codes: list[str] = []

        def came(replies: Any, missing: Any) -> None:
            codes.extend(reply.code for reply in replies.values())

        peers, passed = [parts.neighbours.peers[heron]], ["golan"]
        hold = AskHold(certificate=proof, subscription=1, queue=QUEUE, visited=passed)
        parts.questions.ask_all(peers, hold, DeliveriesHeld, came)
        settle = AskSettle(certificate=proof, subscription=1, epoch=1, done=[1, 2], visited=passed)
        parts.questions.ask_all(peers, settle, Settlements, came)
        await it.m.pass_time(3)
        assert codes == ["FORGED_VISIT", "FORGED_VISIT"]

    play(scenario)
