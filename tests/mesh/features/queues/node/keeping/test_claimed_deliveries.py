"""Jobs of a consumer whose session moves between nodes in memory, with nodes that end, return and are cut."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec.structs import replace

import mesh.testing
from mesh.features.queues.node.parts import QueueParts
from mesh.kernel.peers.facts import LoggedIn
from mesh.proof import attach_text
from mesh.security.streamkey import StreamKey
from mesh.wire.calls import Ask, AskHold, AskSettle
from mesh.wire.commands import Certificate
from mesh.wire.replies import DeliveriesHeld, Settlements
from tests.mesh.features.queues.node.keeping.moving_jobs import NODES, QUEUE, Jobs, texts

Scenario = Callable[[Jobs], Coroutine[Any, Any, None]]
FIVE = ["1", "2", "3", "4", "5"]


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario], None]:
    def run(scenario: Scenario) -> None:
        async def within() -> None:
            async with mesh.testing.Mesh(NODES, clock="virtual") as m:
                async with Jobs(m, monkeypatch).opened() as it:
                    await scenario(it)

        asyncio.run(within())

    return run


async def has_five(it: Jobs, lease: float | None = None) -> None:
    """Let joe prefetch five jobs and begin two of them; the other consumer is idle."""
    it.run(it.consume(it.joe, it.got, it.begin, lease))
    await it.m.pass_time(0.1)
    await it.put(*FIVE)
    await it.begun(2)
    it.run(it.consume(it.other, it.taken))
    await it.m.pass_time(0.5)
    assert (texts(it.got), it.taken) == (["1", "2"], [])


async def end_block(job: Any) -> None:
    async with job:
        pass


def follow(it: Jobs) -> list[Any]:
    """Return the list of events that joe reports from now on."""
    found: list[Any] = []

    async def read() -> None:
        async for event in it.joe.events():
            found.append(event)

    it.run(read())
    return found


def test_jobs_stay_the_clients_when_it_visits_another_node(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(60)
        assert (it.at, it.taken) == ("stork", [])
        await it.ack(*it.got)
        await it.begun(3)
        await it.ack(*it.got[2:])
        assert (it.acked, it.failed, texts(it.got)) == (FIVE, [], FIVE)
        assert not any(delivery.redelivered for delivery in it.got)
        await it.m.pass_time(30)
        assert (it.taken, it.figures("queue_messages")) == ([], {"queue_messages": 0})

    play(scenario)


def test_B17_jobs_of_a_killed_node_wait_for_it_and_are_settled_there(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.m.kill("heron")
        it.order = ["stork", "heron"]
        await it.m.pass_time(10)
        assert it.at == "stork"
        acking = it.run(it.ack(*it.got))
        await it.m.pass_time(30)
        assert not acking.done(), "the part answers"
        it.m.start("heron")
        await it.m.pass_time(14)
        assert (it.acked, it.failed, it.taken) == (["1", "2"], [], [])
        await it.begun(3)
        await it.ack(*it.got[2:])
        it.m.kill("heron")
        it.m.start("heron")
        await it.m.pass_time(60)
        assert (it.acked, it.failed, it.taken) == (FIVE, [], [])

    play(scenario)


@pytest.mark.parametrize("returns", ["in time", "late"])
def test_a_block_does_not_wait_for_the_node_that_was_killed(play: Any, returns: str) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        reports, it.order = follow(it), ["heron"]
        it.m.kill("heron")
        ending = it.run(end_block(it.got[0]))
        await it.m.pass_time(0.5)
        assert not ending.done(), "no other node has the client yet"
        it.order = ["stork", "heron"]
        await it.m.pass_time(4)
        assert (it.at, ending.done()) == ("stork", True)
        await it.begun(1)
        assert texts(it.got) == ["1", "2", "3"], "the next job does not wait for heron either"
        if returns == "late":
            it.m.cut("stork", "heron")
        it.m.start("heron")
        await it.m.pass_time(30)
        it.m.heal()
        await it.m.pass_time(30)
        is_settled = "1" not in texts(it.taken)
        late = [event.kind for event in reports if event.kind == "settled-late"]
        assert (is_settled, late) == ((True, []) if returns == "in time" else (False, ["settled-late"]))

    play(scenario)


def test_an_ack_of_a_consumer_that_has_left_waits_for_the_node_that_was_killed(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await it.put("1")
        job = await it.joe.queue(QUEUE).get(timeout=1.0)
        it.m.kill("heron")
        it.order = ["stork", "heron"]
        await it.m.pass_time(10)
        acking = it.run(it.ack(job))
        await it.m.pass_time(5)
        assert not acking.done()
        it.m.start("heron")
        await it.m.pass_time(30)
        assert (it.acked, it.failed) == (["1"], [])
        assert it.figures("queue_messages", "queue_consumers") == {"queue_messages": 0, "queue_consumers": 0}

    play(scenario)


def test_jobs_of_the_new_node_are_settled_there_beside_those_of_the_former_one(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        async with it.m.connect("stork", client="boss") as boss:
            await boss.queue(QUEUE).put(b"6")
        await it.begun(3)
        await it.ack(*it.got[:3])
        await it.begun(1)
        assert texts(it.got) == [*FIVE, "6"]
        await it.ack(it.got[5], *it.got[3:5])
        assert (it.acked, it.failed, it.taken) == (["1", "2", "3", "6", "4", "5"], [], [])

    play(scenario)


def test_the_claim_is_repeated_when_the_part_restarts_before_the_ack(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        it.m.kill("heron")
        await it.m.pass_time(3)
        it.m.start("heron")
        await it.m.pass_time(30)
        await it.begun(3)
        await it.ack(*it.got)
        await it.m.pass_time(30)
        assert (it.acked, it.failed, it.taken) == (FIVE, [], [])

    play(scenario)


def test_an_ack_on_its_way_to_a_part_that_dies_is_settled_after_the_next_claim(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        it.m.cut("stork", "heron")
        acking = it.run(it.ack(*it.got))
        await it.m.pass_time(2)
        it.m.kill("heron")
        it.m.heal()
        it.m.start("heron")
        await it.m.pass_time(20)
        assert (acking.done(), it.acked, it.failed, it.taken) == (True, ["1", "2"], [], [])

    play(scenario)


def test_leases_are_extended_through_the_new_node_and_end_without_that(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it, lease=3)
        it.visit("stork")
        await it.m.pass_time(1)
        await it.got[0].extend(30)
        await it.m.pass_time(20)
        assert [(text, each.redelivered) for text, each in zip(texts(it.taken), it.taken, strict=True)] == [
            ("2", True)
        ], "the first job was extended, and three wait"
        await it.begun(3)
        await it.ack(it.got[0], *it.got[2:])
        assert (it.acked, it.failed) == (["1", "3", "4", "5"], [])

    play(scenario)


def test_a_second_visit_takes_the_jobs_along_though_the_visited_node_dies(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        it.m.kill("stork")
        it.order = ["ibis"]
        await it.m.pass_time(30)
        assert it.at == "ibis"
        await it.ack(*it.got)
        it.visit("heron")
        await it.m.pass_time(30)
        await it.begun(3)
        await it.ack(*it.got[2:])
        await it.m.pass_time(30)
        assert (it.at, it.acked, it.failed, it.taken) == ("heron", FIVE, [], [])

    play(scenario)


def test_law_3_a_part_cut_off_for_longer_than_the_grace_gives_the_jobs_to_others(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        it.m.cut("stork", "heron")
        await it.m.pass_time(12)
        assert it.taken == []
        await it.m.pass_time(30)
        it.m.heal()
        await it.m.pass_time(10)
        assert sorted(texts(it.taken)) == FIVE
        assert all(delivery.redelivered for delivery in it.taken)
        await it.ack(*it.got)
        assert (it.acked, it.failed) == ([], ["LEASE_OVER", "LEASE_OVER"])

    play(scenario)


def test_law_3_a_node_that_logs_in_and_claims_nothing_again_loses_the_jobs(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        heron, stork = (it.m._nodes[name].core.parts for name in ("heron", "stork"))
        stork[QueueParts].taking._claims._all.clear()  # as in a new process
        peer = heron.neighbours.peers[stork.context.me.uuid]
        assert peer.data is not None
        heron.context.facts.publish_fact(LoggedIn(peer, peer.data))
        await it.m.pass_time(14)
        assert it.taken == []
        await it.m.pass_time(3)
        assert sorted(texts(it.taken)) == FIVE

    play(scenario)


def test_a_consumer_that_leaves_at_its_new_node_gives_up_its_jobs_at_once(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        await it.joe.close()
        await it.m.pass_time(3)
        assert sorted(texts(it.taken)) == FIVE
        flagged = {text for text, each in zip(texts(it.taken), it.taken, strict=True) if each.redelivered}
        assert {"1", "2"} <= flagged, "SE8"

    play(scenario)


def test_a_client_that_does_not_come_back_keeps_its_jobs_for_the_grace_period(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit()
        await it.m.pass_time(14)
        assert it.taken == []
        await it.m.pass_time(3)
        assert sorted(texts(it.taken)) == FIVE

    play(scenario)


# --- nodes that lie -----------------------------------------------------------------------------------------


async def ask(it: Jobs, node: str, question: Ask) -> Any:
    """Let a node ask heron, and return its reply."""
    asker, heron = it.m._nodes[node].core.parts, it.m._nodes["heron"].core.parts.context.me
    found: list[Any] = []
    says: Any = DeliveriesHeld if isinstance(question, AskHold) else Settlements
    peers = [asker.neighbours.peers[heron.uuid]]
    it.m._nodes[node]._call(
        "a question",
        lambda *_: asker.questions.ask_all(peers, question, says, lambda all_, _: found.append(all_)),
    )
    await it.m.pass_time(1)
    return found[0][heron.uuid]


def certificate(it: Jobs, node: str, attach: int, key: StreamKey | None = None) -> Certificate:
    """Return a certificate of joe, or one that another key has signed."""
    core = it.joe._shell.core
    signer = key or core.visits._key
    uuid = it.m._nodes[node].core.parts.context.me.uuid
    text = attach_text(core.line.name, attach, uuid)
    return Certificate(core.line.name, signer.public, attach, uuid, signer.sign(text))


def hold(it: Jobs, proof: Certificate) -> AskHold:
    core = it.joe._shell.core
    (consumption,) = core.queues._all.values()
    stream = next(iter(consumption._inbox.envelopes)).stream
    return AskHold(certificate=proof, subscription=consumption.number, queue=QUEUE, held=((stream, (1, 5)),))


def forged(it: Jobs) -> int:
    return int(it.m._nodes["heron"].core.parts.context.counters.values.get("forged_visits", 0))


def test_law_1_a_claim_needs_the_newest_certificate_of_the_session_for_the_asking_node(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        it.visit("heron")
        await it.m.pass_time(3)
        it.visit("stork")
        await it.m.pass_time(3)
        old, others = certificate(it, "ibis", 2), certificate(it, "stork", 9)
        assert (await ask(it, "ibis", hold(it, old))).code == "MOVED"
        assert forged(it) == 0
        assert (await ask(it, "ibis", hold(it, others))).code == "FORGED_VISIT"
        real = certificate(it, "ibis", 9)
        bad = Certificate(real.session, real.key, 9, real.node, bytes(64))
        assert (await ask(it, "ibis", hold(it, bad))).code == "FORGED_VISIT"
        assert forged(it) == 2
        stranger = certificate(it, "ibis", 9, StreamKey(b"x" * 32))
        assert (await ask(it, "ibis", hold(it, stranger))).value == DeliveriesHeld(epoch=0, lost=[1, 5])
        await it.ack(*it.got)
        assert (it.acked, it.failed, it.taken) == (["1", "2"], [], [])

    play(scenario)


def test_law_1_a_session_with_the_same_key_and_another_name_gets_no_claim(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        key = it.joe._shell.core.visits._key
        uuid = it.m._nodes["ibis"].core.parts.context.me.uuid
        name = it.joe._shell.core.line.name.replace("joe", "ann")
        proof = Certificate(name, key.public, 1, uuid, key.sign(attach_text(name, 1, uuid)))
        assert (await ask(it, "ibis", hold(it, proof))).code == "FORGED_VISIT"
        assert forged(it) == 1

    play(scenario)


def test_only_the_node_with_the_claim_settles(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        it.visit("stork")
        await it.m.pass_time(3)
        (number,) = it.joe._shell.core.queues._all
        for node, epoch in (("ibis", 1), ("stork", 99)):
            proof = certificate(it, node, 2)
            question = AskSettle(certificate=proof, subscription=number, epoch=epoch, done=[1, 2])
            assert (await ask(it, node, question)).value == Settlements(over=[1, 2])
            assert (await ask(it, node, replace(question, done=[]))).code == "UNKNOWN_CLAIM"
        assert it.figures("queue_acked") == {"queue_acked": 0}

    play(scenario)


@pytest.mark.parametrize("held", [((b"s" * 16, (2, 1)),), ((b"s" * 16, (1,)),), ((b"s" * 16, (1, 2**40)),)])
def test_claims_of_impossible_messages_are_refused(play: Any, held: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        question = AskHold(certificate=certificate(it, "ibis", 1), subscription=1, queue=QUEUE, held=held)
        assert (await ask(it, "ibis", question)).code == "MALFORMED"

    play(scenario)


def test_a_claim_at_a_node_without_the_queue_gets_nothing(play: Any) -> None:
    async def scenario(it: Jobs) -> None:
        await has_five(it)
        question = AskHold(
            certificate=certificate(it, "ibis", 1), subscription=1, queue="none", held=((b"s" * 16, (1, 2)),)
        )
        assert (await ask(it, "ibis", question)).value == DeliveriesHeld(epoch=0, lost=[1, 2])

    play(scenario)
