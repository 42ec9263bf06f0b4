"""Transactions at a node: all of one, or nothing, and one outcome."""

from __future__ import annotations

import pytest
from msgspec import structs

from mesh.kernel.context.conn import MONITOR
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.commands import Query
from mesh.wire.envelope import PERSISTENT
from tests.mesh.features.queues.node.worker import a_node
from tests.mesh.features.transactions.node.clerk import Clerk
from tests.simulated_client import client_of
from tests.simulation import SimNetwork


def with_job(*contents: bytes, flags: int = PERSISTENT, **terms: object) -> Clerk:
    """Return a client with a delivery of each content from the queue `jobs`; its node has `next`, too."""
    net, a = a_node()
    joe = Clerk(a, "joe")
    joe.declare("jobs", **terms)
    joe.declare("next", **terms)
    joe.take("jobs")
    joe.put("jobs", *contents, flags=flags)
    net.until(lambda: len(joe.contents()) == len(contents))
    return joe


def test_an_ack_a_put_and_a_message_are_there_together() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    reader = client_of(a)
    s = reader.subscribed("orders/42")
    reply = joe.commit([joe.ack(1)], joe.envelope("next", b"2"), joe.message("orders/42", b"done"))
    assert (reply.code, reply.value) == ("", [["OK", 1, ""], ["OK", 1, ""]])
    net.until(lambda: [got.content for got in s.got] == [b"done"])
    jobs, after = joe.info("jobs"), joe.info("next")
    assert (jobs["out"], jobs["ready"], jobs["acked"], after["ready"]) == (0, 0, 1, 1)


@pytest.mark.parametrize(("to", "code", "index"), [("nowhere", "NO_QUEUE", 1), ("next", "LEASE_OVER", 0)])
def test_a_refused_transaction_has_no_effect(to: str, code: str, index: int) -> None:
    joe = with_job(b"1")
    a = joe.node
    settles = [joe.ack(1)]
    if code == "LEASE_OVER":
        joe.settle(1, 1)
    reply = joe.commit(settles, joe.envelope(to, b"2"), joe.message("orders/42", b"done"))
    assert (reply.code, reply.value) == (code, index)
    assert joe.info("next")["ready"] == 0
    assert not list(a.core.parts.router.log.retained.find_values(Query("exact", "orders/42", ""), 0))
    assert joe.info("jobs")["out"] == (0 if code == "LEASE_OVER" else 1)
    if code != "LEASE_OVER":
        assert joe.settle(1, 1) == []


def test_a_repeated_commit_gets_the_same_answer_and_does_nothing_again() -> None:
    joe = with_job(b"1")
    net = joe.net
    parts = [joe.ack(1)], joe.envelope("next", b"2")
    first = joe.commit(*parts)
    joe.vanish()
    joe.connect()
    again = joe.commit(*parts, count=1)
    assert (first.code, again.code, again.value) == ("", "", first.value)
    assert joe.info("next")["ready"] == 1
    refused = joe.envelope("nowhere", b"3")
    assert joe.code([], refused) == "NO_QUEUE"
    joe.declare("nowhere")
    joe.vanish()
    joe.connect()
    assert joe.code([], refused, count=2) == "NO_QUEUE"
    joe.vanish()
    joe.connect()
    joe.publish_again(refused)
    net.until(lambda: joe.state_of("nowhere", 1))
    assert joe.state_of("nowhere", 1) == "REFUSED"  # for good, also as a plain put
    joe.lowest = 3
    assert joe.code([], joe.envelope("next", b"4"), count=3) == ""


def test_an_outcome_outlives_a_crash_until_the_client_has_it() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    parts = [joe.ack(1)], joe.envelope("next", b"2")
    refused = joe.envelope("nowhere", b"3")
    assert (joe.code(*parts), joe.code([], refused)) == ("", "NO_QUEUE")
    joe.declare("nowhere")
    a.kill()
    a.restart()
    joe.connect()
    assert (joe.code(*parts, count=1), joe.code([], refused, count=2)) == ("", "NO_QUEUE")
    assert (joe.info("next")["ready"], joe.info("nowhere")["ready"]) == (1, 0)
    joe.lowest = 3
    joe.commit([], joe.message("a", b"1"), count=3)
    net.run(3.0)  # until the rows are deleted
    done = a.disk.load().tables["done"]
    assert len(done) == 2  # the last outcome, and the lowest number
    joe.vanish()
    joe.connect()
    joe.lowest = 1
    assert joe.code(*parts, count=1) == "OUTCOME_EXPIRED"


@pytest.mark.parametrize("seed", range(8))
def test_a_crash_at_any_moment_leaves_all_or_nothing(seed: int) -> None:
    joe = with_job(b"1", b"2")
    net, a = joe.net, joe.node
    parts = [joe.ack(1)], joe.envelope("next", b"3"), joe.message("orders/42", b"done")
    joe.commits(*parts)
    net.run(0.0007 * seed)
    a.kill()
    a.restart()
    keys = list(a.core.parts.router.log.retained.find_values(Query("exact", "orders/42", ""), 0))
    held = tuple((joe.held[1][0][0], (n, n)) for n in (1, 2))
    joe.connect()
    reply = joe.take("jobs", held=held)
    assert reply.value["void"] == ([1, 1] if keys else [])
    assert (joe.info("next")["ready"], joe.info("jobs")["out"]) == ((1, 1) if keys else (0, 2))
    assert joe.code(*parts, count=1) == ""
    assert (joe.info("next")["ready"], joe.info("jobs")["out"]) == (1, 1)


def test_acks_free_capacity_for_the_puts_of_their_transaction_and_no_more() -> None:
    joe = with_job(b"1", b"2", max_count=2)
    assert joe.code([], joe.envelope("jobs", b"3")) == "QUEUE_FULL"
    assert joe.code([joe.ack(1)], joe.envelope("jobs", b"3"), joe.envelope("jobs", b"4")) == "QUEUE_FULL"
    assert joe.info("jobs")["out"] == 2
    assert joe.code([joe.ack(1)], joe.envelope("jobs", b"3")) == ""
    assert joe.code(
        [], joe.envelope("next", b"1"), joe.envelope("next", b"2"), joe.envelope("next", b"3")
    ) == ("QUEUE_FULL")
    assert joe.code([], joe.envelope("next", b"1"), joe.envelope("next", b"2")) == ""
    assert joe.info("next")["ready"] == 2


def test_a_held_delivery_belongs_to_one_transaction() -> None:
    joe = with_job(b"1")
    settles = [joe.ack(1)]
    requests = (
        joe.commits(settles, joe.envelope("next", b"2")),
        joe.commits(settles, joe.envelope("next", b"3")),
    )
    assert [joe.reply_to(request).code for request in requests] == ["", "LEASE_OVER"]
    assert joe.info("next")["ready"] == 1
    assert joe.code([joe.ack(1), joe.ack(1)], joe.envelope("next", b"4")) == "LEASE_OVER"


def test_a_full_disk_refuses_all_of_it_and_gives_the_delivery_back() -> None:
    joe = with_job(b"1")
    a = joe.node
    a.disk.is_full = True
    parts = [joe.ack(1)], joe.envelope("next", b"2"), joe.message("orders/42", b"done", flags=0)
    reader = client_of(a)
    s = reader.subscribed("orders/42")
    assert joe.code(*parts) == "STORE_FULL"
    a.disk.is_full = False
    assert (joe.info("jobs")["out"], joe.info("next")["ready"], s.got) == (1, 0, [])
    joe.vanish()
    joe.connect()
    assert joe.code(*parts, count=1) == "STORE_FULL"
    stream = joe.held[1][0][0]
    assert joe.take("jobs", held=((stream, (1, 1)),)).value["void"] == []
    assert joe.settle(1, 1) == []


def test_a_consumer_that_leaves_meanwhile_loses_its_delivery_only_if_the_disk_is_full() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    ann = Clerk(a, "ann")
    ann.take("jobs")
    a.disk.is_full = True
    joe.commits([joe.ack(1)], joe.envelope("next", b"2"))
    joe.leave("jobs")
    net.until(lambda: ann.contents() == [b"1"])
    assert ann.tries[1] == [1]
    a.disk.is_full = False
    ann.commits([ann.ack(1)], ann.envelope("next", b"2"))
    ann.leave("jobs")
    net.run(1.0)
    joe.take("jobs")
    net.run(1.0)
    assert (joe.contents(), joe.info("jobs")["out"], joe.info("next")["ready"]) == ([], 0, 1)


def test_a_nack_in_a_transaction_counts_as_an_attempt_also_after_a_crash() -> None:
    joe = with_job(b"1", b"2", b"3")
    net, a = joe.net, joe.node
    assert joe.code([joe.ack(1), joe.nack(2, delay=60_000), joe.nack(3)]) == ""
    net.until(lambda: joe.contents() == [b"1", b"2", b"3", b"3"])
    assert joe.tries[1][-1] == 1
    other = Clerk(a, "ann")
    jobs = other.info("jobs")
    assert (jobs["out"], jobs["ready"], jobs["delayed"]) == (1, 0, 1)
    a.kill()
    a.restart()
    ann = Clerk(a, "ann2")
    ann.take("jobs")
    net.until(lambda: ann.contents() == [b"3"])
    assert ann.info("jobs")["delayed"] == 1
    net.run(61.0)
    assert ann.contents() == [b"3", b"2"]


def test_a_plain_ack_beside_a_transaction_neither_undoes_it_nor_outlives_its_refusal() -> None:
    for is_full in (False, True):
        joe = with_job(b"1", b"2", b"3")
        net, a = joe.net, joe.node
        a.disk.is_full = is_full
        request = joe.commits([joe.ack(1)], joe.envelope("next", b"2"))
        joe.settle(2, 2, wait=False)
        code = joe.reply_to(request).code
        net.run(0.5)
        a.disk.is_full = False
        net.run(2.0)
        a.kill()
        a.restart()
        ann = Clerk(a, "ann")
        ann.take("jobs")
        net.run(6.0)
        assert (code, ann.contents()) == (("STORE_FULL", [b"1", b"3"]) if is_full else ("", [b"3"]))


def test_later_messages_of_the_session_arrive_after_the_transaction() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    reader = client_of(a)
    s = reader.subscribed("orders/42")
    joe.commits([joe.ack(1)], joe.message("orders/42", b"1", flags=0), joe.message("orders/42", b"2"))
    joe.publish_again(joe.message("orders/42", b"3", flags=0))
    net.until(lambda: len(s.got) == 3)
    assert [got.content for got in s.got] == [b"1", b"2", b"3"]


def test_B11_acks_of_a_persistent_and_a_transient_message_commit_after_a_crash() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    joe.put("jobs", b"2", flags=0)
    net.until(lambda: len(joe.contents()) == 2)
    transient = structs.replace(joe.ack(2), transient=True)
    settles = [joe.ack(1), transient]
    a.kill()
    a.restart()
    joe.connect()
    held = tuple((joe.held[1][0][0], (n, n)) for n in (1, 2))
    joe.take("jobs", held=held)
    assert joe.code(settles) == ""
    jobs = joe.info("jobs")
    assert (jobs["ready"], jobs["out"], jobs["bytes"]) == (0, 0, 0)
    net.run(2.0)
    a.kill()
    a.restart()
    assert Clerk(a, "ann").info("jobs")["bytes"] == 0


def test_a_client_that_only_reads_cannot_commit() -> None:
    joe = with_job(b"1")
    a = joe.node
    conn = next(iter(a.core.parts.sessions.by_stream.values())).conn
    assert conn is not None
    conn.grant = MONITOR
    assert joe.code([joe.ack(1)]) == "NOT_ALLOWED"
    assert joe.code([], joe.message("a", b"1")) == "NOT_ALLOWED"


def test_messages_for_addresses_are_refused() -> None:
    joe = with_job(b"1")
    e = structs.replace(joe.message("", b"1", flags=0, domain=SENDS), to="svc", keys=("",))
    assert joe.code([joe.ack(1)], e) == "BAD_ARGUMENT"
    assert joe.info("jobs")["out"] == 1


FAST = "sqlite:///fast"


def with_stores() -> Clerk:
    """Return a client with a delivery of `jobs`; `jobs` and `next` are in a store of their own."""
    joe = Clerk(SimNetwork().node("a", stores=(("jobs", FAST), ("next", FAST))), "joe")
    for name in ("jobs", "next", "other"):
        joe.declare(name)
    joe.take("jobs")
    joe.put("jobs", b"1")
    joe.net.until(lambda: joe.contents() == [b"1"])
    return joe


def test_work_between_queues_of_one_store_is_one_commit_there() -> None:
    joe = with_stores()
    a = joe.node
    before = a.disk.reach.commits
    assert joe.code([joe.ack(1)], joe.envelope("next", b"2")) == ""
    assert a.disk.reach.commits == before
    a.kill()
    a.restart()
    joe.connect()
    assert joe.code([joe.ack(1)], joe.envelope("next", b"2", first=1), count=1) == ""
    assert (joe.info("jobs")["bytes"], joe.info("next")["ready"]) == (0, 1)


def test_an_outcome_outlives_the_session_unless_the_client_says_goodbye() -> None:
    joe = with_job(b"1")
    net, a = joe.net, joe.node
    parts = [joe.ack(1)], joe.envelope("next", b"2")
    assert joe.code(*parts) == ""
    joe.vanish()
    net.until(lambda: joe.stream not in a.core.parts.sessions.by_stream, 600.0)
    joe.connect()
    assert joe.code(*parts, count=1) == ""
    assert joe.info("next")["ready"] == 1
    joe.say(c.Bye("done"))
    net.run(3.0)
    assert a.disk.load().tables["done"] == {}
